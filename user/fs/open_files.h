/*
 * open_files.h - the table of open files. An id holds a slot and a serial number, so that an id
 * used after its close is refused, even if its slot is in use again.
 */
#ifndef USER_FS_OPEN_FILES_H
#define USER_FS_OPEN_FILES_H

#include "user/fs/tree.h"

struct open_file {
	uint64_t id; /* 0: free slot */
	unsigned int flags;
	struct tree_file file;
};

/* Takes over *file. NULL: the table (1024) is full, and *file is still the caller's. */
struct open_file *open_files_add(const struct tree_file *file, unsigned int flags);

/* NULL: no such id. */
struct open_file *open_files_get(uint64_t id);

/* Frees what the file holds; f is invalid afterwards. */
void open_files_close(struct open_file *f);

#endif
