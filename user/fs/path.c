/* path.c - brings a path into the one form the file server compares. */
#include "user/fs/path.h"

#include <errno.h>
#include <string.h>

/* Cuts the last component off; ".." of the root is the root. */
static size_t parent(const char *path, size_t length)
{
	while (length > 0 && path[length - 1] != '/')
		length--;
	return length > 0 ? length - 1 : 0;
}

int path_normalise(const char *in, size_t length, char out[FS_PATH_SIZE])
{
	const char *end = in + strnlen(in, length);
	size_t used = 0;

	if (in == end)
		return -ENOENT;
	while (in < end) {
		const char *slash = memchr(in, '/', (size_t)(end - in));
		size_t part = (size_t)((slash ? slash : end) - in);

		if (part == 2 && memcmp(in, "..", 2) == 0) {
			used = parent(out, used);
		} else if (part > 0 && !(part == 1 && *in == '.')) {
			if (used + 1 + part >= FS_PATH_SIZE)
				return -ENAMETOOLONG;
			if (used > 0)
				out[used++] = '/';
			memcpy(out + used, in, part);
			used += part;
		}
		in += part + (slash != NULL);
	}
	out[used] = '\0';
	return 0;
}
