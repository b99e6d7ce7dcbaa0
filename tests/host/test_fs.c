// sources: user/fs/service.c user/fs/open_files.c user/fs/client.c user/fs/slots.c user/fs/tree.c user/fs/node.c user/fs/archive.c user/fs/gen.c user/fs/tmp.c user/fs/proc.c user/fs/text.c user/fs/path.c user/fs/ustar.c user/lib/cpus.c
/* The file server, asked as the kernel asks it. Its system calls end in the syscall() below. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "user/fs/archive.h"
#include "user/fs/client.h"
#include "user/fs/node.h"
#include "user/fs/path.h"
#include "user/fs/service.h"
#include "user/fs/tmp.h"
#include "user/lib/gen.h"

/* ---- A kernel of a few lines -------------------------------------------------------------- */

#define OBJECTS 8192

static struct {
	bool open;
	uint64_t cookie, bytes;
} objects[OBJECTS];
static int objects_made;
static int objects_open;
static bool refuse_objects;
static uint64_t client = 1;

static long fake_object_create(uint64_t cookie, uint64_t bytes)
{
	if (refuse_objects) {
		errno = ENOMEM;
		return -1;
	}
	assert_in_range(objects_made, 0, OBJECTS - 3);
	objects_open++;
	objects[++objects_made].open = true;
	objects[objects_made].cookie = cookie;
	objects[objects_made].bytes = bytes;
	return objects_made;
}

static long fake_info(uint64_t kind, void *buffer, uint64_t bytes)
{
	size_t size = kind == INFO_SYSTEM ? sizeof(struct info_system)
		      : kind == INFO_CPUS ? 2 * sizeof(struct info_cpu)
					  : sizeof(struct info_vmstat);

	assert_true(bytes >= size);
	memset(buffer, 0, size);
	if (kind == INFO_SYSTEM)
		((struct info_system *)buffer)->mem_total_pages = 1000;
	if (kind == INFO_CPUS) {
		((struct info_cpu *)buffer)[1].cpu = 1;
		((struct info_cpu *)buffer)[1].tlb[TLB_RECLAIM].taken = 40;
		((struct info_cpu *)buffer)[1].tlb[TLB_COW].taken = 2;
	}
	return (long)size;
}

long syscall(long number, ...)
{
	uint64_t a[3];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(args, uint64_t);
	va_end(args);
	switch (number) {
	case SYS_object_create:
		return fake_object_create(a[1], a[2]);
	case SYS_object_resize:
		objects[(int)a[0]].bytes = a[1];
		return 0;
	case SYS_handle_close:
		assert_true(objects[(int)a[0]].open);
		objects[(int)a[0]].open = false;
		objects_open--;
		return 0;
	case SYS_info:
		return fake_info(a[0], (void *)a[1], a[2]);
	default:
		fail_msg("call %lx was not expected", number);
		return -1;
	}
}

/* ---- Asking ------------------------------------------------------------------------------- */

static char page[IPC_PAGE_SIZE];
static struct ipc_msg msg;

static long ask(uint64_t label, uint64_t w0, uint64_t w1, uint64_t w2, uint32_t page_len)
{
	msg = (struct ipc_msg){ .label = label, .words = { w0, w1, w2, [FS_CLIENT_WORD] = client },
				.badge = IPC_BADGE_KERNEL, .page = (uintptr_t)page,
				.page_len = page_len, .page_cap = sizeof(page),
				.handle = IPC_NO_HANDLE, .reply_to = 7 };
	service_answer(&msg);
	assert_int_equal(msg.reply_to, 7);
	return (long)msg.label;
}

static long ask_path(uint64_t label, const char *path, unsigned int flags)
{
	strcpy(page, path);
	return ask(label, flags, 0, 0, (uint32_t)strlen(path) + 1);
}

static uint64_t open_ok(const char *path, unsigned int flags)
{
	assert_int_equal(ask_path(FS_OPEN, path, flags), 0);
	assert_true(msg.words[0] != 0);
	return msg.words[0];
}

static void close_ok(uint64_t id)
{
	assert_int_equal(ask(FS_CLOSE, id, 0, 0, 0), 0);
}

static void read_stream(const char *path, char *out, size_t size)
{
	uint64_t id = open_ok(path, O_RDONLY), offset = 0;

	assert_int_equal(msg.words[2], FS_KIND_STREAM);
	while (assert_int_equal(ask(FS_READ, id, offset, 100, 0), 0), msg.words[0] > 0) {
		assert_int_equal(msg.words[0], msg.page_len);
		assert_true(offset + msg.page_len < size);
		memcpy(out + offset, page, msg.page_len);
		offset += msg.page_len;
	}
	out[offset] = '\0';
	close_ok(id);
}

/* ---- An archive with bin/prog (5000 bytes) and etc/motd ----------------------------------- */

static uint8_t archive[16 * 512];

static size_t add_member(size_t at, const char *name, size_t size, uint8_t byte)
{
	uint8_t *h = archive + at;
	unsigned int sum = 0;

	strcpy((char *)h, name);
	snprintf((char *)h + 124, 12, "%011o", (unsigned int)size);
	h[156] = '0';
	memcpy(h + 257, "ustar\0" "00", 8);
	memset(h + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		sum += h[i];
	snprintf((char *)h + 148, 8, "%06o", sum);
	memset(h + 512, byte, size);
	return at + 512 + (size + 511) / 512 * 512;
}

static int set_up(void **state)
{
	size_t end;

	(void)state;
	end = add_member(0, "./bin/prog", 5000, 'p');
	add_member(end, "etc/motd", 3, 'm');
	assert_int_equal(archive_init(archive, sizeof(archive)), 2);
	tmp_init(1 << 20, 256);
	client_init(5000);
	return 0;
}

/* ---- Tests -------------------------------------------------------------------------------- */

static void normalises_paths(void **state)
{
	static const char *const cases[][2] = {
		{ "/", "" }, { "//a///b/", "a/b" }, { "./a/./b", "a/b" }, { "../a/../b", "b" },
		{ "a/b/..", "a" }, { "a/..", "" }, { "..", "" }, { "/...", "..." },
	};
	char out[FS_PATH_SIZE], longest[FS_PATH_SIZE + 1];

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(path_normalise(cases[i][0], 100, out), 0);
		assert_string_equal(out, cases[i][1]);
	}
	assert_int_equal(path_normalise("", 100, out), -ENOENT);
	assert_int_equal(path_normalise("abc", 2, out), 0);
	assert_string_equal(out, "ab");
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(path_normalise(longest, sizeof(longest), out), -ENAMETOOLONG);
	assert_int_equal(path_normalise(longest, FS_PATH_SIZE - 2, out), 0);
}

static void serves_archive_files(void **state)
{
	uint64_t id = open_ok("/bin/prog", O_RDONLY), again, cookie;
	int object = msg.handle;

	(void)state;
	assert_int_equal(msg.words[1], 5000);
	assert_int_equal(msg.words[2], FS_KIND_OBJECT);
	cookie = objects[object].cookie;
	assert_true(cookie == msg.words[3]);
	again = open_ok("bin/../bin/prog", O_RDONLY);
	assert_int_equal(msg.handle, object); /* one object for all */
	assert_true(again != id);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 0, 0, 0), 0);
	assert_int_equal(msg.page_len, 4096);
	assert_int_equal(page[4095], 'p');
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 1, 0, 0), 0);
	assert_int_equal(msg.page_len, 5000 - 4096);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 2, 0, 0), -EINVAL);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, ~0ULL, 0, 0), -EINVAL);
	assert_int_equal(ask(PAGER_PAGE_OUT, cookie, 0, 0, 4096), -EROFS);
	assert_int_equal(ask(FS_READ, id, 0, 100, 0), -EINVAL);
	assert_int_equal(ask(FS_TRUNCATE, id, 0, 0, 0), -EINVAL);
	close_ok(id);
	close_ok(again);
}

static void refuses_what_open_refuses(void **state)
{
	static const struct {
		const char *path;
		unsigned int flags;
		int error;
	} cases[] = {
		{ "/bin/none", O_RDONLY, -ENOENT },        { "/bin/prog", O_RDWR, -EROFS },
		{ "/bin/none", O_CREAT | O_RDWR, -EROFS }, { "/bin", O_WRONLY, -EISDIR },
		{ "/bin/prog", O_DIRECTORY, -ENOTDIR },    { "/none", O_DIRECTORY, -ENOENT },
		{ "/bin/prog/x", O_RDONLY, -ENOENT },      { "/tmp/none", O_RDONLY, -ENOENT },
		{ "/tmp/a/b", O_CREAT | O_RDWR, -ENOENT }, { "/proc/none", O_RDONLY, -ENOENT },
		{ "/proc/vmstat", O_WRONLY, -EROFS },      { "/gen/0", O_RDONLY, -ENOENT },
		{ "/gen/1048577", O_RDONLY, -ENOENT },     { "/gen/007", O_RDONLY, -ENOENT },
		{ "/gen/5x", O_RDONLY, -ENOENT },          { "/gen/5.", O_RDONLY, -ENOENT },
		{ "/gen/5.0", O_RDONLY, -ENOENT },         { "/gen/5.4096", O_RDONLY, -ENOENT },
		{ "/gen/99999999999999999999", O_RDONLY, -ENOENT },
		{ "/gen/5", O_RDWR, -EROFS },              { "", O_RDONLY, -ENOENT },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(ask_path(FS_OPEN, cases[i].path, cases[i].flags), cases[i].error);
}

static void refuses_bad_requests(void **state)
{
	uint64_t id = open_ok("/proc/vmstat", O_RDONLY);

	(void)state;
	assert_int_equal(ask(FS_READ, id, ~0ULL, 4096, 0), 0);
	assert_int_equal(msg.words[0], 0);
	assert_int_equal(ask(FS_READ, id, 0, 4097, 0), -EINVAL);
	close_ok(id);
	assert_int_equal(ask(FS_CLOSE, id, 0, 0, 0), -EBADF); /* an id is good once */
	assert_int_equal(ask(FS_READ, 0, 0, 1, 0), -EBADF);
	assert_int_equal(ask(FS_TRUNCATE, ~0ULL, 0, 0, 0), -EBADF);
	assert_int_equal(ask(0, 0, 0, 0, 0), -ENOSYS);
	assert_int_equal(ask(~0ULL, 0, 0, 0, 0), -ENOSYS);
	assert_int_equal(ask(FS_OPEN, 0, 0, 0, 4097), -EINVAL);
	assert_int_equal(ask(PAGER_PAGE_IN, 0, 0, 0, 0), -ESTALE);
	assert_int_equal(ask(PAGER_PAGE_IN, ~0ULL, 0, 0, 0), -ESTALE);
	assert_int_equal(ask(PAGER_PAGE_OUT, ~0ULL, 0, 0, 4096), -ESTALE);
}

static void serves_only_the_kernel(void **state)
{
	(void)state;
	strcpy(page, "/bin/prog");
	objects[OBJECTS - 1].open = true;
	objects_open++;
	msg = (struct ipc_msg){ .label = FS_OPEN, .badge = 5, .page = (uintptr_t)page,
				.page_len = 10, .handle = OBJECTS - 1 };
	service_answer(&msg);
	assert_int_equal((long)msg.label, -EPERM);
	assert_int_equal(msg.handle, IPC_NO_HANDLE);
	assert_false(objects[OBJECTS - 1].open); /* a handle sent along is not kept */
}

static void generates_pages(void **state)
{
	uint64_t id = open_ok("/gen/1048576", O_RDONLY), cookie = msg.words[3];
	uint64_t last = (1ULL << 28) - 1;

	(void)state;
	assert_true(msg.words[1] == 1ULL << 40);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, last, 0, 0), 0);
	assert_int_equal(msg.page_len, 4096);
	assert_true(gen_mismatch(page, last) == 0);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, last + 1, 0, 0), -EINVAL);
	close_ok(id);
	id = open_ok("/gen/16.3", O_RDONLY);
	assert_int_equal(ask(PAGER_PAGE_IN, msg.words[3], 5, 0, 0), 0);
	assert_true(gen_mismatch(page, gen_first_page(3) + 5) == 0);
	close_ok(id);
}

/* Once 64 open files with different names were the end for everybody. */
static void closed_files_cost_nothing(void **state)
{
	static uint64_t ids[300];
	char path[32];
	int before;

	(void)state;
	for (int i = 0; i < 2 * IDLE_NODES; i++) { /* as many idle ones as there will ever be */
		snprintf(path, sizeof(path), "/gen/%d", 100 + i);
		close_ok(open_ok(path, O_RDONLY));
	}
	before = objects_open;
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "/gen/%d", 1000 + i);
		ids[i] = open_ok(path, O_RDONLY);
	}
	close_ok(open_ok("/gen/99", O_RDONLY));
	for (int i = 0; i < 300; i++)
		close_ok(ids[i]);
	assert_int_equal(objects_open, before);
	for (int i = 0; i < 300; i++) { /* open or not, a page can be had: the cookie says which */
		snprintf(path, sizeof(path), "/gen/%d", 2000 + i);
		close_ok(open_ok(path, O_RDONLY));
	}
	assert_int_equal(ask(PAGER_PAGE_IN, (uint64_t)COOKIE_GEN << 56 | 1000, 0, 0, 0), 0);
	assert_int_equal(objects_open, before);
}

static void refused_opens_leave_nothing_behind(void **state)
{
	static const struct {
		const char *path;
		unsigned int flags;
	} refused[] = {
		{ "/gen/7", O_RDWR }, { "/gen/8", O_CREAT | O_EXCL }, { "/gen/9", O_DIRECTORY },
		{ "/proc/vmstat", O_RDWR }, { "/bin/prog", O_RDWR },
	};
	char out[16384];
	int before = objects_open;

	(void)state;
	for (unsigned int i = 0; i < 200; i++)
		assert_true(ask_path(FS_OPEN, refused[i % 5].path, refused[i % 5].flags) < 0);
	assert_int_equal(ask_path(FS_UNLINK, "/gen/6", 0), -EROFS);
	assert_int_equal(objects_open, before);
	read_stream("/gen", out, sizeof(out));
	close_ok(open_ok("/gen/5", O_RDONLY));
}

static void keeps_tmp_files(void **state)
{
	uint64_t id = open_ok("/tmp/f", O_RDWR | O_CREAT), cookie = msg.words[3];
	int object = msg.handle;

	(void)state;
	assert_int_equal(msg.words[1], 0);
	assert_int_equal(ask(FS_TRUNCATE, id, 5000, 0, 0), 0);
	assert_int_equal(objects[object].bytes, 5000);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 1, 0, 0), 0);
	assert_int_equal(page[0], 0);
	memset(page, 'a', sizeof(page));
	assert_int_equal(ask(PAGER_PAGE_OUT, cookie, 1, 0, 4096), 0);
	assert_int_equal(ask(PAGER_PAGE_OUT, cookie, 99, 0, 4096), 0); /* past the end: dropped */
	close_ok(id);
	id = open_ok("/tmp/f", O_RDWR);
	assert_int_equal(msg.words[1], 5000);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 1, 0, 0), 0);
	assert_int_equal(page[5000 - 4096 - 1], 'a');
	assert_int_equal(ask(FS_TRUNCATE, id, 4097, 0, 0), 0);
	assert_int_equal(ask(FS_TRUNCATE, id, 8192, 0, 0), 0);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 1, 0, 0), 0);
	assert_int_equal(page[0], 'a');
	assert_int_equal(page[1], 0); /* not what was there before it shrank */
	assert_int_equal(page[4095], 0);
	close_ok(id);
	assert_int_equal(ask_path(FS_OPEN, "/tmp/f", O_CREAT | O_EXCL | O_RDWR), -EEXIST);
	id = open_ok("/tmp/f", O_RDWR | O_TRUNC);
	assert_int_equal(msg.words[1], 0);
	close_ok(id);
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/f", 0), 0);
}

static void limits_tmp_files(void **state)
{
	uint64_t a = open_ok("/tmp/a", O_RDWR | O_CREAT), b = open_ok("/tmp/b", O_RDWR | O_CREAT);
	char name[100] = "/tmp/";

	(void)state;
	assert_int_equal(ask(FS_TRUNCATE, a, (1 << 20) + 1, 0, 0), -ENOSPC);
	assert_int_equal(ask(FS_TRUNCATE, a, ~0ULL, 0, 0), -EINVAL);
	assert_int_equal(ask(FS_TRUNCATE, a, INT64_MAX, 0, 0), -ENOSPC);
	assert_int_equal(ask(FS_TRUNCATE, a, 1 << 20, 0, 0), 0);
	assert_int_equal(ask(FS_TRUNCATE, b, 1, 0, 0), -ENOSPC);
	assert_int_equal(ask(FS_TRUNCATE, a, 0, 0, 0), 0);
	assert_int_equal(ask(FS_TRUNCATE, b, 1 << 20, 0, 0), 0);
	close_ok(a);
	close_ok(b);
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/a", 0), 0);
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/b", 0), 0);
	memset(name + 5, 'n', 64);
	assert_int_equal(ask_path(FS_OPEN, name, O_RDWR | O_CREAT), -ENAMETOOLONG);
}

static void unlinked_file_lives_until_closed(void **state)
{
	uint64_t id = open_ok("/tmp/f", O_RDWR | O_CREAT), cookie = msg.words[3], id2;
	int object = msg.handle;

	(void)state;
	assert_int_equal(ask(FS_TRUNCATE, id, 4096, 0, 0), 0);
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/f", 0), 0);
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/f", 0), -ENOENT);
	assert_int_equal(ask_path(FS_OPEN, "/tmp/f", O_RDONLY), -ENOENT);
	memset(page, 'u', sizeof(page));
	assert_int_equal(ask(PAGER_PAGE_OUT, cookie, 0, 0, 4096), 0);
	id2 = open_ok("/tmp/f", O_RDWR | O_CREAT); /* a new file of that name */
	assert_true(msg.words[3] != cookie);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 0, 0, 0), 0);
	assert_int_equal(page[0], 'u');
	close_ok(id);
	assert_false(objects[object].open);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 0, 0, 0), -ESTALE);
	assert_int_equal(ask(PAGER_PAGE_OUT, cookie, 0, 0, 4096), 0);
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/f", 0), 0);
	close_ok(id2);
	/* The slot is used again, the cookie is not. */
	id = open_ok("/tmp/f", O_RDWR | O_CREAT);
	assert_true(msg.words[3] != cookie);
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 0, 0, 0), -ESTALE);
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/f", 0), 0);
	close_ok(id);
	assert_int_equal(ask_path(FS_UNLINK, "/bin/prog", 0), -EROFS);
}

/* A failed open has made no file and has emptied none. */
static void reports_a_kernel_without_memory(void **state)
{
	(void)state;
	refuse_objects = true;
	assert_int_equal(ask_path(FS_OPEN, "/tmp/new", O_RDWR | O_CREAT), -ENOMEM);
	refuse_objects = false;
	assert_int_equal(ask_path(FS_OPEN, "/tmp/new", O_RDWR), -ENOENT);
}

static void many_files_in_tmp(void **state)
{
	char path[32];

	(void)state;
	for (int round = 0; round < 3; round++) {
		int before = objects_open;

		for (int i = 0; i < 256; i++) { /* as many as there may be */
			snprintf(path, sizeof(path), "/tmp/many.%d", i);
			close_ok(open_ok(path, O_RDWR | O_CREAT));
		}
		assert_int_equal(ask_path(FS_OPEN, "/tmp/one-more", O_RDWR | O_CREAT), -ENOSPC);
		close_ok(open_ok("/etc/motd", O_RDONLY));
		for (int i = 0; i < 256; i++) {
			snprintf(path, sizeof(path), "/tmp/many.%d", i);
			assert_int_equal(ask_path(FS_UNLINK, path, 0), 0);
		}
		assert_int_equal(objects_open, before);
	}
}

static void undoes_an_open_whose_reply_was_lost(void **state)
{
	uint64_t id, cookie;

	(void)state;
	id = open_ok("/tmp/lost", O_RDWR | O_CREAT);
	service_undelivered();
	assert_int_equal(ask(FS_CLOSE, id, 0, 0, 0), -EBADF);
	assert_int_equal(ask_path(FS_OPEN, "/tmp/lost", O_RDWR), -ENOENT);
	service_undelivered(); /* nothing was opened */
	close_ok(open_ok("/tmp/kept", O_RDWR | O_CREAT));
	id = open_ok("/tmp/kept", O_RDWR | O_CREAT); /* this open does not make it */
	service_undelivered();
	assert_int_equal(ask(FS_CLOSE, id, 0, 0, 0), -EBADF);
	id = open_ok("/tmp/kept", O_RDWR);
	cookie = msg.words[3];
	assert_int_equal(ask(FS_EXTEND, id, 10, 0, 0), 0);
	service_undelivered(); /* only opens are taken back */
	assert_int_equal(ask(PAGER_PAGE_IN, cookie, 0, 0, 0), 0);
	assert_int_equal(msg.page_len, 10);
	close_ok(id);
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/kept", 0), 0);
}

static void extending_never_shortens(void **state)
{
	uint64_t id = open_ok("/tmp/f", O_RDWR | O_CREAT), reader;
	int object = msg.handle;

	(void)state;
	assert_int_equal(ask(FS_EXTEND, id, 5000, 0, 0), 0);
	assert_int_equal(objects[object].bytes, 5000);
	assert_int_equal(ask(FS_EXTEND, id, 100, 0, 0), 0);
	assert_int_equal(objects[object].bytes, 5000);
	reader = open_ok("/tmp/f", O_RDONLY);
	assert_int_equal(msg.words[1], 5000);
	assert_int_equal(ask(FS_EXTEND, reader, 6000, 0, 0), -EINVAL);
	assert_int_equal(ask(FS_EXTEND, id, ~0ULL, 0, 0), -EINVAL);
	close_ok(reader);
	close_ok(id);
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/f", 0), 0);
}

static void lists_directories(void **state)
{
	char out[8192];

	(void)state;
	read_stream("/", out, sizeof(out));
	assert_string_equal(out, "bin\netc\ngen\nproc\ntmp\n");
	read_stream("/bin/", out, sizeof(out));
	assert_string_equal(out, "prog\n");
	close_ok(open_ok("/tmp/x", O_RDWR | O_CREAT));
	read_stream("/tmp", out, sizeof(out));
	assert_string_equal(out, "x\n");
	assert_int_equal(ask_path(FS_UNLINK, "/tmp/x", 0), 0);
	read_stream("/proc", out, sizeof(out));
	assert_string_equal(out, "cpuinfo\ninterrupts\nmeminfo\nvmstat\n");
}

static void shows_linux_formats(void **state)
{
	char out[8192];

	(void)state;
	read_stream("/proc/interrupts", out, sizeof(out));
	assert_non_null(strstr(out, "CPU0"));
	assert_non_null(strstr(out, "TLB:          0           42   TLB shootdowns\n"));
	read_stream("/proc/meminfo", out, sizeof(out));
	assert_non_null(strstr(out, "MemTotal:           4000 kB\n"));
	read_stream("/proc/vmstat", out, sizeof(out));
	assert_non_null(strstr(out, "pgsteal_kswapd 0\n"));
	read_stream("/proc/cpuinfo", out, sizeof(out));
	assert_non_null(strstr(out, "processor\t: 1\n"));
}

/* One client takes all it may have: it gets errors, others do not. */
static void limits_are_per_client(void **state)
{
	static uint64_t ids[2][CLIENT_FILES], texts[CLIENT_FILES];
	int nr_texts = 0;

	(void)state;
	for (int i = 0; i < CLIENT_FILES; i++)
		ids[0][i] = open_ok("/etc/motd", O_RDONLY);
	assert_int_equal(ask_path(FS_OPEN, "/etc/motd", O_RDONLY), -EMFILE);
	assert_int_equal(ask_path(FS_OPEN, "/tmp/not", O_RDWR | O_CREAT), -EMFILE);
	assert_int_equal(ask_path(FS_OPEN, "/tmp/not", O_RDWR), -ENOENT);
	client = 2;
	for (int i = 0; i < CLIENT_FILES; i++)
		ids[1][i] = open_ok("/etc/motd", O_RDONLY);
	client = 3;
	while (ask_path(FS_OPEN, "/proc/interrupts", O_RDONLY) == 0)
		texts[nr_texts++] = msg.words[0];
	assert_int_equal((long)msg.label, -ENFILE); /* that of all: 5000 */
	for (int i = 0; i < CLIENT_FILES; i++) {
		close_ok(ids[0][i]);
		close_ok(ids[1][i]);
	}
	while (ask_path(FS_OPEN, "/proc/interrupts", O_RDONLY) == 0)
		texts[nr_texts++] = msg.words[0];
	assert_int_equal((long)msg.label, -ENOMEM); /* texts are counted in bytes */
	close_ok(open_ok("/etc/motd", O_RDONLY));
	while (nr_texts > 0)
		close_ok(texts[--nr_texts]);
	client = 1;
	close_ok(open_ok("/etc/motd", O_RDONLY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normalises_paths),
		cmocka_unit_test(serves_archive_files),
		cmocka_unit_test(refuses_what_open_refuses),
		cmocka_unit_test(refuses_bad_requests),
		cmocka_unit_test(serves_only_the_kernel),
		cmocka_unit_test(generates_pages),
		cmocka_unit_test(closed_files_cost_nothing),
		cmocka_unit_test(refused_opens_leave_nothing_behind),
		cmocka_unit_test(keeps_tmp_files),
		cmocka_unit_test(limits_tmp_files),
		cmocka_unit_test(unlinked_file_lives_until_closed),
		cmocka_unit_test(reports_a_kernel_without_memory),
		cmocka_unit_test(many_files_in_tmp),
		cmocka_unit_test(undoes_an_open_whose_reply_was_lost),
		cmocka_unit_test(extending_never_shortens),
		cmocka_unit_test(lists_directories),
		cmocka_unit_test(shows_linux_formats),
		cmocka_unit_test(limits_are_per_client),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
