/*
 * archive.h - the files of the boot archive, read only.
 */
#ifndef USER_FS_ARCHIVE_H
#define USER_FS_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "user/fs/node.h"
#include "user/fs/text.h"

extern const struct node_class archive_class;

/*
 * Takes the files of the archive, which must stay mapped. A damaged archive gives its error on
 * stderr and the files before the damage. Returns the number of files, or -ENOMEM.
 */
int archive_init(const void *base, size_t length);

/* By normalised path; NULL when there is none. Of several with one name the last counts. */
struct node *archive_find(const char *path);

/* Appends the names in a directory ("" is the root), one per line; false: no such directory. */
bool archive_list(const char *directory, struct text *out);

#endif
