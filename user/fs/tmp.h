/*
 * tmp.h - files in memory under /tmp.
 *
 * Their memory is taken when the file grows, never when a page is written out: page-out is how
 * the kernel gets memory back, so it must not need any. An unlinked file lives until its last
 * close; after that its pages are gone, and a request for one fails with -ESTALE.
 */
#ifndef USER_FS_TMP_H
#define USER_FS_TMP_H

#include "user/fs/node.h"
#include "user/fs/text.h"

extern const struct node_class tmp_class;

/* All files together may take this much. */
void tmp_init(uint64_t limit_bytes);

/*
 * The file of that name (no '/'), for open(2) flags: made if O_CREAT, emptied if O_TRUNC.
 * 0, -ENOENT, -EEXIST, -ENAMETOOLONG (63 bytes), -ENOSPC (64 files), -EINVAL.
 */
int tmp_find(const char *name, unsigned int flags, struct node **node);

/* 0 or -ENOENT. */
int tmp_unlink(const char *name);

/* Appends the names, one per line. */
void tmp_list(struct text *out);

#endif
