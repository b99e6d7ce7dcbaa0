/*
 * open_files.h - the open files, by the id that the kernel knows them by (slots.h).
 */
#ifndef USER_FS_OPEN_FILES_H
#define USER_FS_OPEN_FILES_H

#include "user/fs/client.h"
#include "user/fs/tree.h"

struct open_file {
	uint64_t id;
	unsigned int flags;
	struct client *client; /* it is counted for */
	struct tree_file file;
};

/*
 * Opens *file for a client; takes it over. 0 and *f, or -EMFILE, -ENFILE, -ENOMEM: then *file is
 * still the caller's.
 */
int open_files_add(const struct tree_file *file, unsigned int flags, uint64_t client,
		   struct open_file **f);

/* NULL: no such id. */
struct open_file *open_files_get(uint64_t id);

/* Frees what the file holds; f is invalid afterwards. */
void open_files_close(struct open_file *f);

#endif
