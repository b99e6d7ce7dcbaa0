/*
 * ustar.h - reads a tar archive in memory, entry by entry.
 *
 * Pure: no allocation, no system calls; the archive is not trusted. Whatever `tar` has written is
 * read: POSIX ustar and pax (IEEE Std 1003.1, pax, "ustar Interchange Format" and "pax Interchange
 * Format"), GNU (long names, base-256 sizes; GNU tar's manual, "Basic Tar Format") with its old
 * magic, and the headers without magic of the 7th edition.
 */
#ifndef USER_FS_USTAR_H
#define USER_FS_USTAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USTAR_PATH_SIZE 1024 /* longer names are cut, and the entry has a problem */

/* A name that a header of its own carries: in the archive, no NUL at its end; NULL: none. */
struct ustar_name {
	const char *text;
	size_t length;
};

/* What extended headers say about the entries behind them. */
struct ustar_extended {
	struct ustar_name path, link;
	bool has_size, sparse;
	uint64_t size;
};

struct ustar {
	const uint8_t *base;
	size_t length;
	size_t offset; /* of the next header */
	struct ustar_extended next, global; /* for one entry, for all that follow */
	char error[128]; /* set when ustar_next returns USTAR_ERROR */
};

struct ustar_entry {
	char path[USTAR_PATH_SIZE];
	char link[USTAR_PATH_SIZE]; /* hard links: the file it is another name of; else "" */
	const uint8_t *data;
	uint64_t size;
	bool regular; /* a file with data; a hard link is none */
	const char *problem; /* why it cannot be used, or NULL */
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
