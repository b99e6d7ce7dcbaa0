/*
 * pager.c - a program that is the pager of its own memory object, well-behaved or not.
 *
 * A child makes an object, a thread of it serves the object, its first thread writes every page and
 * reads all of them again. What the pager does with page-outs is the mode:
 *
 *   good    keeps them: every page must come back as it was written
 *   needy   takes memory of its own before it answers, as much as the page-outs bring
 *   refuse  answers each with an error: pages may be lost, and nobody waits
 *   mute    never answers: the object is lost, and who uses it dies of SIGBUS
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "user/lib/args.h"
#include "user/lib/gather.h"
#include "user/lib/gen.h"

#define PROGRAM "pager"

enum mode { GOOD, NEEDY, REFUSE, MUTE, NR_MODES };

static const char *const mode_names[NR_MODES] = { "good", "needy", "refuse", "mute" };

static const char usage[] =
	"usage: pager [--mode good|needy|refuse|mute] [--pages N] [--passes N]\n"
	"exit status: 0 as the mode promises, 1 bad pages, 2 usage, 3 could not run\n";

static enum mode mode;
static unsigned int pages = 6000, passes = 2;
static int endpoint;
static uint8_t *store; /* what has been paged out: page by page, zero at first */
static uint8_t buffer[GEN_PAGE_SIZE] __attribute__((aligned(GEN_PAGE_SIZE)));
static unsigned long nr_in, nr_out;

/* ---- The pager ---------------------------------------------------------------------------- */

/* A fresh page for each page-out, and more while it is at it. */
static void need_memory(void)
{
	volatile uint8_t *p = mmap(NULL, 4 * GEN_PAGE_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; p != MAP_FAILED && i < 4; i++)
		p[i * GEN_PAGE_SIZE] = 1;
	if (p != MAP_FAILED)
		munmap((void *)p, 4 * GEN_PAGE_SIZE);
}

static void answer_page_in(struct ipc_msg *msg)
{
	nr_in++;
	memcpy(buffer, store + msg->words[1] * GEN_PAGE_SIZE, GEN_PAGE_SIZE);
	msg->label = 0;
	msg->page_len = GEN_PAGE_SIZE;
}

/* false: no answer. */
static bool answer_page_out(struct ipc_msg *msg)
{
	nr_out++;
	if (mode == MUTE)
		return false;
	if (mode == NEEDY)
		need_memory();
	if (mode != REFUSE)
		memcpy(store + msg->words[1] * GEN_PAGE_SIZE, buffer, msg->page_len);
	msg->label = mode == REFUSE ? (uint64_t)-ENOSPC : 0;
	msg->page_len = 0;
	return true;
}

static void *serve(void *unused)
{
	struct ipc_msg msg;
	bool received = false;

	for (;;) {
		if (!received) {
			msg = (struct ipc_msg){ .page = (uintptr_t)buffer,
						.page_cap = sizeof(buffer),
						.handle = IPC_NO_HANDLE };
			if (gather_ipc_recv(endpoint, &msg) != 0)
				return unused;
		}
		received = false;
		if (msg.label == PAGER_PAGE_IN)
			answer_page_in(&msg);
		else if (!answer_page_out(&msg))
			continue;
		msg.handle = IPC_NO_HANDLE;
		msg.page = (uintptr_t)buffer;
		msg.page_cap = sizeof(buffer);
		received = gather_ipc_reply_recv(endpoint, &msg) == 0;
	}
}

/* ---- Its client --------------------------------------------------------------------------- */

static uint64_t *mark(uint8_t *base, unsigned int page)
{
	return (uint64_t *)(base + (size_t)page * GEN_PAGE_SIZE + 8);
}

static int use(uint8_t *base)
{
	unsigned int pass, page;
	unsigned long bad = 0;

	for (pass = 0; pass < passes; pass++) {
		for (page = 0; page < pages; page++)
			*mark(base, page) = gen_word(pass, page);
		for (page = 0; page < pages; page++)
			bad += *mark(base, page) != gen_word(pass, page);
	}
	printf("RESULT workload=pager mode=%s pages=%u page_ins=%lu page_outs=%lu bad_pages=%lu\n",
	       mode_names[mode], pages, nr_in, nr_out, bad);
	fflush(stdout);
	return bad && mode != REFUSE ? EXIT_BAD_DATA : EXIT_VERIFIED;
}

static int child(void)
{
	pthread_t thread;
	int object;
	void *base;

	store = mmap(NULL, (size_t)pages * GEN_PAGE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	endpoint = (int)syscall(SYS_endpoint_create);
	object = endpoint < 0 ? -1 :
		 gather_object_create(endpoint, 1, (uint64_t)pages * GEN_PAGE_SIZE);
	base = object < 0 ? MAP_FAILED :
	       gather_object_map(object, (uint64_t)pages * GEN_PAGE_SIZE, PROT_READ | PROT_WRITE, 0);
	if (store == MAP_FAILED || base == MAP_FAILED || pthread_create(&thread, NULL, serve, NULL)) {
		perror(PROGRAM);
		return EXIT_BROKEN;
	}
	return use(base);
}

static enum mode parse_mode(const char *text)
{
	for (int i = 0; i < NR_MODES; i++)
		if (!strcmp(text, mode_names[i]))
			return (enum mode)i;
	fprintf(stderr, PROGRAM ": no mode %s\n%s", text, usage);
	exit(EXIT_USAGE);
}

/* As the mode promises? */
static int judge(int status)
{
	if (mode != MUTE)
		return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BROKEN;
	printf("RESULT workload=pager mode=mute pages=%u signal=%d\n", pages,
	       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS ? EXIT_VERIFIED : EXIT_BROKEN;
}

int main(int argc, char **argv)
{
	const char *name = "good";
	const struct args_option options[] = {
		{ "--mode", .text = &name },
		{ "--pages", .number = &pages, .min = 1, .max = 1 << 20 },
		{ "--passes", .number = &passes, .min = 1, .max = 1000 },
		{ 0 },
	};
	int status;
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	args_take_all(PROGRAM, usage, options, argc, argv);
	mode = parse_mode(name);
	pid = fork();
	if (pid == 0)
		_exit(child());
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror(PROGRAM);
		return EXIT_BROKEN;
	}
	return judge(status);
}
