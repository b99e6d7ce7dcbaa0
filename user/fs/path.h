/*
 * path.h - brings a path into the one form the file server compares.
 */
#ifndef USER_FS_PATH_H
#define USER_FS_PATH_H

#include <stddef.h>

#define FS_PATH_SIZE 256

/*
 * Writes the path without leading or trailing '/', empty, "." and ".." components into out: the
 * root is "". in need not be NUL-terminated; it ends at a NUL or after length bytes.
 * Returns 0, -ENOENT for an empty path, or -ENAMETOOLONG. Pure.
 */
int path_normalise(const char *in, size_t length, char out[FS_PATH_SIZE]);

#endif
