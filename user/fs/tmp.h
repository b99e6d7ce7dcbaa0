/*
 * tmp.h - files in memory under /tmp.
 *
 * Their memory is taken when the file grows, never when a page is written out: page-out is how
 * the kernel gets memory back, so it must not need any. An unlinked file lives until its last
 * close; after that its pages are gone, and a request for one fails with -ESTALE.
 */
#ifndef USER_FS_TMP_H
#define USER_FS_TMP_H

#include <stdbool.h>

#include "user/fs/node.h"
#include "user/fs/text.h"

extern const struct node_class tmp_class;

/* All files together may take this much, and there may be so many. */
void tmp_init(uint64_t limit_bytes, uint64_t limit_files);

/*
 * The file of that name (no '/'), for open(2) flags: made if O_CREAT, and *created says so. O_TRUNC
 * is the caller's to do. 0, -ENOENT, -EEXIST, -ENAMETOOLONG (63 bytes), -ENOSPC.
 */
int tmp_find(const char *name, unsigned int flags, struct node **node, bool *created);

/* 0 or -ENOENT. */
int tmp_unlink(const char *name);

/* A file that was made for an open that has failed after all goes again. */
void tmp_remove(struct node *node);

/* Appends the names, one per line. */
void tmp_list(struct text *out);

#endif
