/*
 * badptr.c - does one forbidden thing, to show what the kernel does about it.
 *
 * The memory tests must end in death by SIGSEGV: surviving is the failure, with exit status 1.
 * The system-call tests must come back with the right errno and then print `badptr: ok`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "user/lib/args.h"
#include "user/lib/gather.h"

#define PROGRAM     "badptr"
#define KERNEL_TEXT 0xffffffff80200000UL
#define FUTEX_WAIT  0

static void touch(unsigned long address)
{
	(void)*(volatile unsigned long *)address;
}

static void *one_page(int prot)
{
	return mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* ---- Memory: each of these should not return ---------------------------------------------- */

static int write_kernel(void)
{
	*(volatile unsigned long *)KERNEL_TEXT = 1;
	return 1;
}

static int read_kernel(void)
{
	touch(KERNEL_TEXT);
	return 1;
}

static int null_pointer(void)
{
	unsigned long address = 0;

	__asm__ volatile("" : "+r"(address)); /* or the compiler sees the null and plants a trap */
	touch(address);
	return 1;
}

/* The page is used first, so that its translation is in the TLB when it goes. */
static int stale(void)
{
	volatile unsigned long *p = one_page(PROT_READ | PROT_WRITE);

	*p = 1;
	munmap((void *)p, 4096);
	touch((unsigned long)p);
	return 1;
}

static int readonly(void)
{
	volatile unsigned long *p = one_page(PROT_READ | PROT_WRITE);

	*p = 1;
	mprotect((void *)p, 4096, PROT_READ);
	*p = 2;
	return 1;
}

static int exec_data(void)
{
	unsigned char *p = one_page(PROT_READ | PROT_WRITE);
	void (*code)(void);

	p[0] = 0xc3; /* ret */
	memcpy(&code, &p, sizeof(code));
	code();
	return 1;
}

/* ---- System calls ------------------------------------------------------------------------- */

static int expect(const char *call, long result, int error)
{
	if (result == -1 && errno == error)
		return 0;
	fprintf(stderr, PROGRAM ": %s: result %ld (%s) where %s was expected\n", call, result,
		result == -1 ? strerror(errno) : "no error", strerror(error));
	return 1;
}

static int with_bad_pointer(unsigned long bad)
{
	int wrong = 0, fd = open("/etc/motd", O_RDONLY);

	wrong += expect("write", syscall(SYS_write, 1, bad, 8), EFAULT);
	wrong += expect("writev", syscall(SYS_writev, 1, bad, 1), EFAULT);
	wrong += expect("writev", syscall(SYS_writev, 1, NULL, 1), EFAULT);
	wrong += expect("writev", syscall(SYS_writev, 1, NULL, 1000000), EINVAL);
	wrong += expect("open", syscall(SYS_open, bad, O_RDONLY), EFAULT);
	if (fd >= 0) {
		wrong += expect("read", syscall(SYS_read, fd, bad, 8), EFAULT);
		wrong += expect("fstat", syscall(SYS_fstat, fd, bad), EFAULT);
		close(fd);
	}
	wrong += expect("clock_gettime", syscall(SYS_clock_gettime, 0, bad), EFAULT);
	wrong += expect("nanosleep", syscall(SYS_nanosleep, bad, NULL), EFAULT);
	wrong += expect("futex", syscall(SYS_futex, bad, FUTEX_WAIT, 0, NULL), EFAULT);
	wrong += expect("execve", syscall(SYS_execve, bad, NULL, NULL), EFAULT);
	return wrong;
}

static int syscall_bad_pointers(void)
{
	void *gone = one_page(PROT_READ);
	int wrong = 0;

	munmap(gone, 4096);
	wrong += with_bad_pointer(0x10);
	wrong += with_bad_pointer((unsigned long)gone);
	wrong += with_bad_pointer(KERNEL_TEXT);
	wrong += with_bad_pointer(0x8000000000000000UL); /* not canonical */
	wrong += with_bad_pointer(~0UL - 3);             /* wraps round */
	return wrong;
}

static int unknown_syscall(void)
{
	static const long numbers[] = { 999, 0xfff, 0x1fff, 0x7fffffff, -1 };
	int wrong = 0;

	for (unsigned int i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		wrong += expect("unknown call", syscall(numbers[i], 0, 0, 0), ENOSYS);
	return wrong;
}

/* The page has to be there: a move of nothing would find out nothing. */
static int nodes_bad_arguments(void)
{
	static const uint64_t no_nodes[] = { NR_NODES, 255, 1ULL << 32, MOVE_ANY_NODE - 1 };
	uint8_t node, *page = one_page(PROT_READ | PROT_WRITE);
	struct info_system info;
	struct move_result moved;
	int wrong = 0;

	*page = 1;
	if (gather_info(INFO_SYSTEM, &info, sizeof(info)) < 0)
		return 1;
	for (unsigned int i = 0; i < sizeof(no_nodes) / sizeof(no_nodes[0]); i++)
		wrong += expect("move_range", gather_move_range(page, 4096, no_nodes[i], &moved),
				ENODEV);
	wrong += expect("move_range", gather_move_range(page, 4096, info.nr_nodes, &moved), ENODEV);
	wrong += expect("move_range", gather_move_range(page, 4096, 0, (void *)KERNEL_TEXT), EFAULT);
	wrong += expect("move_range", gather_move_range(page + 1, 4096, 0, &moved), EINVAL);
	wrong += expect("page_node", gather_page_node(page, (void *)KERNEL_TEXT, 1), EFAULT);
	wrong += expect("page_node", gather_page_node(page + 1, &node, 1), EINVAL);
	wrong += expect("page_node", gather_page_node((void *)KERNEL_TEXT, &node, 1), EINVAL);
	wrong += expect("page_node", gather_page_node(page, &node, SIZE_MAX), EINVAL);
	return wrong;
}

/* ---- Handles whose number cannot be told ---------------------------------------------------- */

#define HANDLE_CALLS 2000 /* more than a task may have handles */

static int endpoint, gift; /* what is passed on */
static struct ipc_msg *readonly_msg;

static void *receive_badly(void *unused)
{
	(void)unused;
	for (int i = 0; i < HANDLE_CALLS; i++)
		if (expect("ipc_recv", gather_ipc_recv(endpoint, readonly_msg), EFAULT))
			return "";
	return NULL;
}

static void *reply_well(void *unused)
{
	struct ipc_msg msg = { .handle = IPC_NO_HANDLE };

	(void)unused;
	for (int i = 0; i < HANDLE_CALLS; i++) {
		if (gather_ipc_recv(endpoint, &msg) != 0)
			return "";
		msg.handle = gift;
		if (gather_ipc_reply(&msg) != 0)
			return "";
	}
	return NULL;
}

/* So many calls to a thread of this process that does `serve`; each must fail so. */
static int call_many(void *(*serve)(void *), struct ipc_msg *msg, int error)
{
	int client = gather_handle_mint(endpoint, 5), wrong = 0;
	pthread_t thread;
	void *failed;

	if (pthread_create(&thread, NULL, serve, NULL) != 0)
		return 1;
	for (int i = 0; i < HANDLE_CALLS && !wrong; i++)
		wrong += expect("ipc_call", gather_ipc_call(client, msg), error);
	if (wrong)
		return wrong;
	pthread_join(thread, &failed);
	gather_handle_close(client);
	return failed != NULL;
}

/* The message is where it can be read but not written: the handle that it brought goes again. */
static int handles_that_cannot_be_told(void)
{
	struct ipc_msg msg = { .handle = IPC_NO_HANDLE };
	int wrong = 0, before, after;

	endpoint = gather_endpoint_create();
	gift = gather_endpoint_create();
	readonly_msg = one_page(PROT_READ | PROT_WRITE);
	*readonly_msg = msg;
	mprotect(readonly_msg, 4096, PROT_READ);
	before = gather_endpoint_create();
	msg.handle = gift;
	wrong += call_many(receive_badly, &msg, EIO);
	wrong += call_many(reply_well, readonly_msg, EFAULT);
	after = gather_endpoint_create();
	return wrong + (after != before + 1);
}

/* Gather only: Linux has none of these calls. */
static int native_bad_arguments(void)
{
	struct ipc_msg msg = { .handle = IPC_NO_HANDLE };
	int wrong = 0;

	wrong += expect("ipc_call", gather_ipc_call(4711, &msg), EBADF);
	wrong += expect("ipc_recv", gather_ipc_recv(-1, &msg), EBADF);
	wrong += expect("handle_close", gather_handle_close(4711), EBADF);
	wrong += expect("object_size", gather_object_size(4711), EBADF);
	wrong += expect("object_create", gather_object_create(4711, 0, 4096), EBADF);
	wrong += expect("info", gather_info(INFO_SYSTEM, (void *)KERNEL_TEXT,
					    sizeof(struct info_system)), EFAULT);
	wrong += nodes_bad_arguments();
	wrong += handles_that_cannot_be_told();
	return wrong;
}

/* ---- Which -------------------------------------------------------------------------------- */

static const struct test {
	const char *name;
	int (*run)(void);
	bool fatal; /* returning at all is the failure */
} tests[] = {
	{ "write-kernel", write_kernel, true },
	{ "read-kernel", read_kernel, true },
	{ "null", null_pointer, true },
	{ "stale", stale, true },
	{ "readonly", readonly, true },
	{ "exec-data", exec_data, true },
	{ "syscall-bad-pointers", syscall_bad_pointers, false },
	{ "unknown-syscall", unknown_syscall, false },
	{ "native-bad-arguments", native_bad_arguments, false },
};

static void print_usage(FILE *out)
{
	fputs("usage: badptr TEST, where TEST is one of\n", out);
	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		fprintf(out, "  %-22s %s\n", tests[i].name,
			tests[i].fatal ? "must be killed" : "must print 'badptr: ok'");
}

int main(int argc, char **argv)
{
	for (unsigned int i = 0; argc == 2 && i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (strcmp(argv[1], tests[i].name) != 0)
			continue;
		if (tests[i].run() == 0) {
			puts(PROGRAM ": ok");
			return EXIT_VERIFIED;
		}
		if (tests[i].fatal)
			printf(PROGRAM ": survived %s\n", tests[i].name);
		return EXIT_BAD_DATA;
	}
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		print_usage(stdout);
		return EXIT_VERIFIED;
	}
	print_usage(stderr);
	return EXIT_USAGE;
}
