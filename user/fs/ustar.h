/*
 * ustar.h - reads a tar archive in memory, entry by entry.
 *
 * Pure: no allocation, no system calls; the archive is not trusted. Only POSIX ustar is read
 * (IEEE Std 1003.1, pax, "ustar Interchange Format"); `tar --format=ustar` writes it.
 */
#ifndef USER_FS_USTAR_H
#define USER_FS_USTAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USTAR_PATH_SIZE 257 /* prefix of 155, '/', name of 100, NUL */

struct ustar {
	const uint8_t *base;
	size_t length;
	size_t offset; /* of the next header */
	char error[128]; /* set when ustar_next returns USTAR_ERROR */
};

struct ustar_entry {
	char path[USTAR_PATH_SIZE];
	const uint8_t *data;
	uint64_t size;
	bool regular; /* a file; anything else has no data of use here */
};

enum ustar_result {
	USTAR_END,
	USTAR_ENTRY,
	USTAR_ERROR, /* entries returned before remain good; there are no more after it */
};

void ustar_open(struct ustar *u, const void *base, size_t length);

/* Fills in *entry on USTAR_ENTRY. entry->data points into the archive. */
enum ustar_result ustar_next(struct ustar *u, struct ustar_entry *entry);

#endif
