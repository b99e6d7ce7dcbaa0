/*
 * main.c - the file server: maps the boot archive, then answers the kernel for ever.
 *
 * One thread, one message buffer. All memory of this task is pinned, and answering a page-in or
 * page-out allocates nothing: reclaim may be waiting for the answer.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "user/fs/archive.h"
#include "user/fs/client.h"
#include "user/fs/service.h"
#include "user/fs/tmp.h"

static uint8_t page[IPC_PAGE_SIZE] __attribute__((aligned(IPC_PAGE_SIZE)));

static int fail(const char *what)
{
	fprintf(stderr, "fs: %s: %s\n", what, strerror(errno));
	return 1;
}

static uint64_t at_most(uint64_t files)
{
	const uint64_t handles = MAX_SERVER_HANDLES / 2 - IDLE_NODES;

	return files < handles ? files : handles;
}

/*
 * What all clients together may take. /tmp: a quarter of memory, which is pinned, and the rest must
 * stay usable. Open files: a tenth of memory, at 1 KiB each with what the kernel keeps, as Linux. A
 * file in /tmp and an open one have a handle each: they must not meet the bound of the handles.
 */
static void set_limits(void)
{
	struct info_system sys;

	if (gather_info(INFO_SYSTEM, &sys, sizeof(sys)) < 0)
		sys.mem_total_pages = 4096;
	tmp_init(sys.mem_total_pages / 4 * FS_PAGE_SIZE, at_most(sys.mem_total_pages / 4));
	client_init(at_most(sys.mem_total_pages * (FS_PAGE_SIZE / 1024) / 10));
}

static int load_archive(void)
{
	long bytes = gather_object_size(BOOT_HANDLE_ARCHIVE);
	const void *base;
	int files;

	if (bytes < 0)
		return fail("no boot archive");
	base = gather_object_map(BOOT_HANDLE_ARCHIVE, (uint64_t)bytes, PROT_READ, 0);
	if (base == MAP_FAILED)
		return fail("cannot map the boot archive");
	files = archive_init(base, (size_t)bytes);
	if (files < 0) {
		errno = -files;
		return fail("cannot read the boot archive");
	}
	printf("fs: %d files, %ld KiB\n", files, bytes / 1024);
	fflush(stdout);
	return 0;
}

static void expect_page(struct ipc_msg *msg)
{
	msg->page = (uintptr_t)page;
	msg->page_cap = sizeof(page);
}

/* A reply fails when the caller has died meanwhile: what it asked for is undone. */
static int serve(void)
{
	struct ipc_msg msg = { .handle = IPC_NO_HANDLE };
	bool received = false;

	for (;;) {
		expect_page(&msg);
		if (!received && gather_ipc_recv(BOOT_HANDLE_SERVICE, &msg) != 0)
			return fail("cannot receive");
		service_answer(&msg);
		expect_page(&msg);
		received = gather_ipc_reply_recv(BOOT_HANDLE_SERVICE, &msg) == 0;
		if (!received && errno == ESRCH)
			service_undelivered();
	}
}

int main(void)
{
	set_limits();
	if (load_archive() != 0)
		return 1;
	return serve();
}
