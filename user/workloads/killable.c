/*
 * killable.c - what a process does when it is killed must not matter: it waits for a server whose
 * memory does not come, it writes megabytes, it walks terabytes. Each is gone soon. Gather only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user/lib/args.h"
#include "user/lib/check.h"
#include "user/lib/gather.h"

#define PROGRAM "killable"
#define PAGE    4096UL
#define TIB     (1UL << 40)

static volatile int *shared; /* [0]: a process's tid, 0 once it is gone; [1], [2]: steps */

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

/* The kernel takes this process's mark away when it has ended. */
static void leave_mark(void)
{
	shared[0] = (int)syscall(SYS_set_tid_address, shared);
}

/* Kills the process that left its mark; how long it took to go, or -1: it stays. */
static double kill_marked(pid_t pid, unsigned int patience_ms)
{
	double begin = now_ms();

	check_returns("kill", kill(pid, SIGKILL), 0);
	while (shared[0] && now_ms() - begin < patience_ms)
		usleep(200);
	return shared[0] ? -1 : now_ms() - begin;
}

/* ---- A server whose memory does not come ----------------------------------------------------- */

static void call(int endpoint, char *page)
{
	struct ipc_msg msg = {.label = 1, .page = (uintptr_t)page, .page_len = PAGE, .page_cap = PAGE,
			      .handle = IPC_NO_HANDLE};

	leave_mark();
	gather_ipc_call(endpoint, &msg);
	_exit(0);
}

/*
 * A server that receives into, or answers from, a page of an object that it pages itself: its only
 * thread waits for a page-in that nobody will answer.
 */
static void serve_badly(int answers)
{
	int service = (int)syscall(SYS_endpoint_create), pages = (int)syscall(SYS_endpoint_create);
	int object = gather_object_create(pages, 1, PAGE);
	char *never = gather_object_map(object, PAGE, PROT_READ | PROT_WRITE, 0);
	static char page[PAGE] __attribute__((aligned(4096)));
	struct ipc_msg msg = {.page_cap = PAGE, .handle = IPC_NO_HANDLE};
	pid_t client = fork();

	if (client == 0)
		call(service, page);
	shared[1] = client;
	msg.page = (uintptr_t)(answers ? page : never);
	gather_ipc_recv(service, &msg);
	msg.page = (uintptr_t)never;
	msg.page_len = PAGE;
	shared[2] = 1;
	gather_ipc_reply_recv(service, &msg);
	_exit(1);
}

static void check_bad_server(int answers)
{
	pid_t server;
	double ms;

	shared[0] = shared[1] = shared[2] = 0;
	fflush(stdout);
	server = fork();
	if (server == 0)
		serve_badly(answers);
	while (!shared[0] || !shared[1] || (answers && !shared[2]))
		usleep(1000);
	usleep(50000);
	ms = kill_marked(shared[1], 2000);
	printf("RESULT exp=killable what=client_of_a_server_that_%s ms=%.1f\n",
	       answers ? "answers_from_nowhere" : "receives_nowhere", ms);
	check_that(ms >= 0 && ms < 500, "a client is gone soon, whatever its server's memory does");
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

/* ---- Long work ------------------------------------------------------------------------------- */

static char *reserve(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void write_megabytes(void)
{
	size_t bytes = 4 << 20;
	char *text = reserve(bytes);

	memset(text, '.', bytes);
	leave_mark();
	write(1, text, bytes);
}

static void ask_for_nodes(void)
{
	char *p = reserve(8 * TIB);
	uint8_t *nodes = (uint8_t *)reserve(8 * TIB / PAGE);

	leave_mark();
	gather_page_node(p, nodes, 8 * TIB / PAGE);
}

static void move_terabytes(void)
{
	char *p = reserve(8 * TIB);
	struct move_result moved;

	for (size_t at = 0; at < 8 * TIB; at += TIB / 2)
		p[at] = 1;
	leave_mark();
	for (;;)
		gather_move_range(p, 8 * TIB, MOVE_ANY_NODE, &moved);
}

static void populate_terabytes(void)
{
	leave_mark();
	mmap(NULL, 8 * TIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	mmap(NULL, 8 * TIB, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

static void discard_for_ever(void)
{
	char *p = reserve(8 * TIB);

	leave_mark();
	for (;;) {
		p[0] = p[4 * TIB] = 1;
		madvise(p, 8 * TIB, MADV_DONTNEED);
	}
}

static void fork_for_ever(void)
{
	memset(reserve(4 << 20), 1, 4 << 20);
	leave_mark();
	for (;;) {
		if (fork() == 0)
			_exit(0);
		wait(NULL);
	}
}

static void write_vectors(void)
{
	struct {
		const void *base;
		size_t len;
	} iov[1024];
	char *text = reserve(1 << 20);

	memset(text, '-', 1 << 20);
	for (int i = 0; i < 1024; i++)
		iov[i].base = text, iov[i].len = 1 << 20;
	leave_mark();
	syscall(SYS_writev, 1, iov, 1024);
}

static const struct work {
	const char *name;
	void (*run)(void);
} works[] = {
	{"write_4_mib", write_megabytes},    {"writev_1_gib", write_vectors},
	{"page_node_8_tib", ask_for_nodes},  {"move_range_8_tib", move_terabytes},
	{"populate_8_tib", populate_terabytes}, {"madvise_8_tib", discard_for_ever},
	{"fork", fork_for_ever},
};

static void check_work(const struct work *work)
{
	double ms;
	pid_t pid;

	shared[0] = 0;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		work->run();
		_exit(0);
	}
	while (!shared[0])
		usleep(1000);
	usleep(30000);
	ms = kill_marked(pid, 10000);
	waitpid(pid, NULL, 0);
	printf("\nRESULT exp=killable what=%s ms=%.1f\n", work->name, ms);
	check_that(ms >= 0 && ms < 500, "a process is gone soon after a kill, whatever it does");
}

int main(void)
{
	unsigned int i;

	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check_bad_server(0);
	check_bad_server(1);
	for (i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		check_work(&works[i]);
	return check_done(PROGRAM);
}
