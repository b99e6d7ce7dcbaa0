/*
 * ranges.c - addresses, lengths and offsets whose sum or rounding wraps, or leaves user space: each
 * call must refuse them as Linux does, and change nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "user/lib/check.h"
#include "user/lib/gather.h"

#define PROGRAM "ranges"
#define PAGE    4096UL

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static char *pages(size_t n)
{
	char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 7, n * PAGE);
	return p;
}

static long raw_brk(unsigned long address)
{
	return syscall(SYS_brk, address);
}

/* The values round to 0 or past the end of user space. */
static void check_brk(void)
{
	static const unsigned long bad[] = {~0UL, ~0UL - 1, -PAGE, -PAGE + 1, 1UL << 63,
					    0x7ffffffff001, 0x800000000000};
	long before = raw_brk(0);
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_returns("brk", raw_brk(bad[i]), before);
	check_returns("brk", raw_brk(0), before);
}

static void check_map(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
	char *p = pages(2);

	check_fails("mmap of 0 bytes", (long)mmap(NULL, 0, rw, flags, -1, 0), EINVAL);
	check_fails("mmap of ~0 bytes", (long)mmap(NULL, SIZE_MAX, rw, flags, -1, 0), ENOMEM);
	check_fails("mmap of 2^63 bytes", (long)mmap(NULL, 1UL << 63, rw, flags, -1, 0), ENOMEM);
	check_fails("mmap of 128 TiB", (long)mmap(NULL, 1UL << 47, rw, flags, -1, 0), ENOMEM);
	check_fails("mmap fixed between pages",
		    syscall(SYS_mmap, p + 1, PAGE, rw, flags | MAP_FIXED, -1, 0), EINVAL);
	check_fails("mmap fixed at the end", syscall(SYS_mmap, -PAGE, PAGE, rw, flags | MAP_FIXED, -1, 0),
		    ENOMEM);
	check_fails("mmap fixed that wraps",
		    syscall(SYS_mmap, p, -(unsigned long)p, rw, flags | MAP_FIXED, -1, 0), ENOMEM);
	check_fails("mmap not replacing", syscall(SYS_mmap, p, PAGE, rw, flags | MAP_FIXED_NOREPLACE, -1, 0),
		    EEXIST);
	check_returns("munmap", munmap(p, PAGE), 0);
	check_returns("mmap not replacing, of a hole",
		      syscall(SYS_mmap, p, PAGE, rw, flags | MAP_FIXED_NOREPLACE, -1, 0), (long)p);
	check_fails("mmap not replacing, half",
		    syscall(SYS_mmap, p, 2 * PAGE, rw, flags | MAP_FIXED_NOREPLACE, -1, 0), EEXIST);
	check_that(p[PAGE] == 7, "what was not replaced is as it was");
}

/* The last page of the file would lie past 2^63. */
static void check_map_offset(void)
{
	static const char *const files[] = {"/etc/motd", "/etc/passwd"};
	int fd = open(files[0], O_RDONLY);

	if (fd < 0)
		fd = open(files[1], O_RDONLY);
	check_fails("mmap at an offset that wraps",
		    syscall(SYS_mmap, 0, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, -PAGE), EOVERFLOW);
	check_fails("mmap at an offset of 2^63",
		    syscall(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, fd, 1UL << 63), EOVERFLOW);
	check_fails("mmap up to 2^63", syscall(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, fd,
					       (1UL << 63) - PAGE), EOVERFLOW);
	check_fails("mmap between pages of a file",
		    syscall(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, fd, 1), EINVAL);
	close(fd);
}

static void check_unmap(void)
{
	char *p = pages(1);

	check_fails("munmap of 0 bytes", munmap(p, 0), EINVAL);
	check_fails("munmap of ~0 bytes", munmap(p, SIZE_MAX), EINVAL);
	check_fails("munmap to the end of all", munmap(p, -(size_t)p), EINVAL);
	check_fails("munmap between pages", munmap(p + 1, PAGE), EINVAL);
	check_fails("munmap of the last page", munmap((void *)-PAGE, PAGE), EINVAL);
	check_that(p[0] == 7, "a refused munmap unmaps nothing");
}

/* musl's mprotect rounds by itself. */
static long raw_mprotect(char *p, size_t bytes)
{
	return syscall(SYS_mprotect, p, bytes, PROT_READ);
}

static void check_protect(void)
{
	char *p = pages(1);

	check_fails("mprotect of ~0 bytes", raw_mprotect(p, SIZE_MAX), ENOMEM);
	check_fails("mprotect that rounds to 0", raw_mprotect(p, -PAGE + 1), ENOMEM);
	check_fails("mprotect that wraps", raw_mprotect(p, -(size_t)p), ENOMEM);
	check_fails("mprotect of the last page", raw_mprotect((char *)-PAGE, PAGE), ENOMEM);
	check_fails("mprotect between pages", raw_mprotect(p + 1, PAGE), EINVAL);
	check_returns("mprotect of 0 bytes", raw_mprotect(p, 0), 0);
	p[0] = 8;
}

static void check_advice(void)
{
	char *p = pages(3);

	check_returns("madvise of 0 bytes", madvise(p, 0, MADV_DONTNEED), 0);
	check_fails("madvise of ~0 bytes", madvise(p, SIZE_MAX, MADV_DONTNEED), EINVAL);
	check_fails("madvise that wraps", madvise(p, -(size_t)p + PAGE, MADV_DONTNEED), EINVAL);
	check_fails("madvise between pages", madvise(p + 1, PAGE, MADV_DONTNEED), EINVAL);
	check_fails("madvise of nonsense", madvise(p, PAGE, 4711), EINVAL);
	check_that(p[0] == 7, "a refused madvise discards nothing");
	munmap(p + PAGE, PAGE);
	check_fails("madvise over a hole", madvise(p, 3 * PAGE, MADV_DONTNEED), ENOMEM);
	check_that(p[0] == 0 && p[2 * PAGE] == 0, "madvise discards on both sides of a hole");
}

static void check_native(void)
{
	char *p = pages(1);
	uint8_t node;
	struct move_result moved;
	int endpoint = (int)syscall(SYS_endpoint_create), object;

	check_fails("move_range of ~0 bytes", gather_move_range(p, SIZE_MAX, MOVE_ANY_NODE, &moved),
		    EINVAL);
	check_fails("move_range that wraps",
		    gather_move_range(p, -(size_t)p + PAGE, MOVE_ANY_NODE, &moved), EINVAL);
	check_fails("move_range of 0 bytes", gather_move_range(p, 0, MOVE_ANY_NODE, &moved), EINVAL);
	check_fails("page_node of 2^52 pages", gather_page_node(p, &node, 1UL << 52), EINVAL);
	check_fails("page_node of 2^63 pages", gather_page_node(p, &node, 1UL << 63), EINVAL);
	check_fails("object_create of ~0 bytes", gather_object_create(endpoint, 1, ~0UL), EINVAL);
	object = gather_object_create(endpoint, 1, 1UL << 62);
	check_that(object >= 0, "an object may be large");
	check_fails("object_resize to ~0 bytes", gather_object_resize(object, ~0UL), EINVAL);
	check_fails("object_map of ~0 bytes", (long)gather_object_map(object, ~0UL, PROT_READ, 0), ENOMEM);
	check_fails("object_map at an offset that wraps",
		    (long)gather_object_map(object, 2 * PAGE, PROT_READ, -PAGE), EOVERFLOW);
	gather_handle_close(object);
	gather_handle_close(endpoint);
}

int main(void)
{
	check_brk();
	check_map();
	check_map_offset();
	check_unmap();
	check_protect();
	check_advice();
	if (check_on_gather())
		check_native();
	return check_done(PROGRAM);
}
