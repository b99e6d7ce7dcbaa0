/* mapfile.c - a whole file mapped shared. */
#include "user/lib/mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>

static bool complain(const char *program, const char *path, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program, path, why);
	return false;
}

bool mapfile_open(struct mapfile *m, const char *program, const char *path, bool writable)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	struct stat st;
	bool ok;

	m->fd = open(path, writable ? O_RDWR : O_RDONLY);
	if (m->fd < 0)
		return complain(program, path, strerror(errno));
	if (fstat(m->fd, &st) != 0) {
		ok = complain(program, path, strerror(errno));
	} else if (st.st_size < 4096) {
		ok = complain(program, path, "holds not even one page");
	} else {
		m->pages = (uint64_t)st.st_size / 4096;
		m->base = mmap(NULL, m->pages * 4096, prot, MAP_SHARED, m->fd, 0);
		ok = m->base != MAP_FAILED || complain(program, path, strerror(errno));
	}
	if (!ok)
		close(m->fd);
	return ok;
}

void mapfile_close(struct mapfile *m)
{
	munmap(m->base, m->pages * 4096);
	close(m->fd);
}
