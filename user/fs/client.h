/*
 * client.h - who holds what: open files and generated texts, counted for each task that asked.
 *
 * A client that reaches its own bound gets errors, and nobody else does. All together may have as
 * many open files as memory allows, as Linux's file-max.
 */
#ifndef USER_FS_CLIENT_H
#define USER_FS_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#define CLIENT_FILES 2048        /* descriptors, and files that are only mapped any more */
#define CLIENT_TEXT  (1UL << 20) /* bytes of texts that are open */

struct client;

/* All clients together may have this many files open. */
void client_init(unsigned long files);

/*
 * One more open file, with so much text, for the client with this id. 0 and the client, -EMFILE
 * (its own bound), -ENFILE (that of all), -ENOMEM.
 */
int client_charge(uint64_t id, size_t text, struct client **client);

/* The file that was charged is closed. */
void client_uncharge(struct client *client, size_t text);

#endif
