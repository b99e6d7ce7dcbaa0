/*
 * mapfile.h - a whole file mapped shared.
 */
#ifndef USER_LIB_MAPFILE_H
#define USER_LIB_MAPFILE_H

#include <stdbool.h>
#include <stdint.h>

struct mapfile {
	int fd; /* stays open: an unlinked file's pages live until the last close */
	uint64_t pages; /* whole pages of 4096 bytes */
	void *base;
};

/* Maps path for reading or reading and writing. On failure says why on stderr, returns false. */
bool mapfile_open(struct mapfile *m, const char *program, const char *path, bool writable);

void mapfile_close(struct mapfile *m);

static inline void *mapfile_page(const struct mapfile *m, uint64_t page)
{
	return (char *)m->base + page * 4096;
}

#endif
