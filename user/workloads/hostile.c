/*
 * hostile.c - calls the kernel with what no sane program would, from many threads at once.
 *
 * A supervisor forks one attacker after the other. An attacker's threads draw a call, Linux-numbered
 * or native, and arguments of the kind it takes or of any other: addresses that others unmap, protect,
 * move or truncate meanwhile, lengths at every edge, descriptors and handles that may be closed, ids
 * of other tasks. Some attackers are pagers and servers too, and answer late, wrongly, twice or never.
 * An attacker that kills itself, or in which all threads wait, is replaced.
 *
 * The same seed draws the same calls in each thread; what the threads do to one another is the
 * kernel's choice (`seed=` on its command line repeats that too).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "user/lib/args.h"
#include "user/lib/gather.h"

#define PROGRAM      "hostile"
#define PAGE         4096UL
#define ARENA        0x200000000000UL
#define ARENA_PAGES  64
#define OBJECT_PAGES 16
#define MAX_THREADS  16
#define MAX_CHILDREN 8 /* of attackers, at a time */
#define LIFE         20000 /* calls of one attacker */
#define PATIENCE     25 /* polls of 20 ms without a call: all its threads wait */

static const char usage[] =
	"usage: hostile [--seed N] [--calls N] [--threads N]    1, 100000, 8\n";

/* Shared by the supervisor and all attackers, far from whatever an attacker is told to write. */
struct shared {
	atomic_ulong calls;
	atomic_int children;
};

#define SHARED_PAGE 0x300000000000UL
#define shared      ((struct shared *)SHARED_PAGE)

static unsigned int seed = 1, calls = 100000, threads = 8;
static uint8_t *object; /* pages of an attacker that is its own pager */
static int endpoint = -1;

/* ---- Chance ------------------------------------------------------------------------------- */

static _Thread_local uint64_t state;

static uint64_t draw(void)
{
	if (!state) /* an attacker's own memory is not safe from it */
		state = 0x9e3779b97f4a7c15ULL;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)((draw() >> 33) % n);
}

static void start_chance(uint64_t attacker, uint64_t thread)
{
	state = (seed * 1000003ULL + attacker) * 1000033ULL + thread + 1;
	for (int i = 0; i < 8; i++)
		draw();
}

/* ---- Arguments ---------------------------------------------------------------------------- */

static const char *const paths[] = { "/tmp/h0", "/tmp/h1", "/tmp/h2", "/tmp/h3", "/bin/badptr",
				     "/proc/meminfo", "/gen/1", "/etc/motd", "/", "", "/tmp",
				     "/bin/hostile", "nowhere" };

static _Thread_local union {
	struct ipc_msg msg;
	struct iovec iov[4];
	struct timespec time;
	uint64_t words[32];
} block;

static unsigned long edge(void)
{
	static const unsigned long edges[] = {
		0, 1, 2, 3, 7, 8, 511, 512, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 65536, 1UL << 21,
		0x7fffffff, 0x80000000, 0xffffffff, 1UL << 32, 0x7ffffffff000, 0x7fffffffffff,
		1UL << 47, 0xffff800000000000, 0xffffffff80200000, 1UL << 63, -PAGE, -1UL, -2UL,
		0x7fffffffffffffff, -14UL, 0xffffc00000000000,
	};

	return edges[below(sizeof(edges) / sizeof(edges[0]))];
}

static unsigned long arena_page(void)
{
	return ARENA + below(ARENA_PAGES) * PAGE;
}

static unsigned long address(void)
{
	switch (below(16)) {
	case 0: return edge();
	case 1: return (unsigned long)paths + below(4096);
	case 2: return (unsigned long)&block;
	case 3: return object ? (unsigned long)object + below(OBJECT_PAGES) * PAGE : edge();
	case 4: return arena_page() + PAGE - 1 - below(16);
	case 5: return draw();
	default: return arena_page() + below(8) * 8;
	}
}

static unsigned long length(void)
{
	switch (below(8)) {
	case 0: return below(16) ? below(1 << 16) : edge();
	case 1: return below(1 << 20);
	case 2: return below(ARENA_PAGES) * PAGE;
	default: return below(2 * PAGE);
	}
}

static unsigned long message(void)
{
	block.msg = (struct ipc_msg){
		.label = below(4) ? below(20) : edge(),
		.words = { below(4), below(OBJECT_PAGES + 2), edge() },
		.page = below(4) ? arena_page() : address(),
		.page_len = (uint32_t)length(),
		.page_cap = (uint32_t)length(),
		.handle = below(3) ? IPC_NO_HANDLE : (int32_t)below(12),
		.reply_to = below(2) ? below(64) : (uint32_t)edge(),
	};
	return below(8) ? (unsigned long)&block : address();
}

static unsigned long vector(void)
{
	for (int i = 0; i < 4; i++)
		block.iov[i] = (struct iovec){ (void *)address(), length() };
	return below(8) ? (unsigned long)&block : address();
}

/* Short, or nonsense. */
static unsigned long moment(void)
{
	block.time = (struct timespec){ below(16) ? 0 : (time_t)edge(),
					below(16) ? below(1000000) : (long)edge() };
	return below(8) ? (unsigned long)&block : address();
}

/* A letter says what kind of argument a call takes there; one in 24 is of another kind. */
static unsigned long argument(char kind)
{
	switch (below(24) ? kind : "paldhrmonktvgix"[below(15)]) {
	case 'p': return address();
	case 'a': return below(16) ? arena_page() : address();
	case 'l': return length();
	case 'd': return below(8) ? below(16) : edge();     /* descriptor */
	case 'h': return below(8) ? below(12) : edge();     /* handle */
	case 'r': return below(8) ? below(8) : edge();      /* protection */
	case 'm': /* mmap's flags, MAP_POPULATE not often */
		return (unsigned long[]){ 0x22, 0x21, 0x32, 0x31, 0x12, 0x11, 0x2, 0x1,
					    0x100022, 0x8022 }[below(below(16) ? 9 : 10)];
	case 'o': return below(4) ? below(64) * PAGE : edge(); /* offset */
	case 's': return below(8) ? (unsigned long)paths[below(13)] : address();
	case 'n': return below(32);
	case 'k': return below(4) ? below(40) : edge();     /* process */
	case 't': return moment();
	case 'v': return vector();
	case 'g': return message();
	case 'i': return below(70);                         /* signal */
	case 'c': return below(4) ? below(0x800) : edge();  /* open's flags */
	default: return edge();
	}
}

/* ---- Calls -------------------------------------------------------------------------------- */

#define WAITS 1 /* may wait for ever: seldom, and never by a child that nobody would end */

static const struct call {
	long number;
	const char *arguments;
	unsigned int weight, flags;
} table[] = {
	{ SYS_read, "dpl", 6, WAITS }, { SYS_write, "dpl", 8, 0 }, { SYS_open, "scn", 8, 0 },
	{ SYS_close, "d", 6, 0 }, { SYS_fstat, "dp", 3, 0 }, { SYS_lseek, "don", 4, 0 },
	{ SYS_mmap, "alrmdo", 20, 0 }, { SYS_mprotect, "alr", 14, 0 }, { SYS_munmap, "al", 8, 0 },
	{ SYS_brk, "x", 3, 0 }, { SYS_rt_sigaction, "ippn", 2, 0 },
	{ SYS_rt_sigprocmask, "nppn", 2, 0 }, { SYS_ioctl, "dxp", 2, 0 },
	{ SYS_pread64, "dplo", 5, 0 }, { SYS_pwrite64, "dplo", 5, 0 }, { SYS_readv, "dvn", 3, WAITS },
	{ SYS_writev, "dvn", 4, 0 }, { SYS_pipe, "p", 3, 0 }, { SYS_sched_yield, "", 4, 0 },
	{ SYS_madvise, "alx", 3, 0 }, { SYS_madvise, "aln", 10, 0 }, { SYS_dup, "d", 3, 0 },
	{ SYS_dup2, "dd", 3, 0 }, { SYS_nanosleep, "tp", 3, WAITS }, { SYS_getpid, "", 1, 0 },
	{ SYS_wait4, "kpnp", 3, WAITS }, { SYS_kill, "ki", 2, 0 }, { SYS_tkill, "ki", 1, 0 },
	{ SYS_fcntl, "dnx", 3, 0 }, { SYS_ftruncate, "do", 6, 0 }, { SYS_unlink, "s", 3, 0 },
	{ SYS_mlockall, "n", 1, 0 }, { SYS_futex, "pnxtpx", 6, WAITS },
	{ SYS_sched_setaffinity, "klp", 2, 0 }, { SYS_sched_getaffinity, "klp", 2, 0 },
	{ SYS_set_tid_address, "p", 1, 0 }, { SYS_clock_gettime, "np", 3, 0 },
	{ SYS_clock_nanosleep, "nntp", 3, WAITS }, { SYS_openat, "xscn", 3, 0 },
	{ SYS_dup3, "ddx", 2, 0 }, { SYS_pipe2, "px", 2, 0 },
	{ SYS_endpoint_create, "", 3, 0 }, { SYS_handle_close, "h", 4, 0 },
	{ SYS_handle_mint, "hx", 4, 0 }, { SYS_ipc_call, "hg", 6, WAITS }, { SYS_ipc_recv, "hg", 3, WAITS },
	{ SYS_ipc_reply, "g", 6, 0 }, { SYS_ipc_reply_recv, "hg", 2, WAITS },
	{ SYS_object_create, "hxl", 5, 0 }, { SYS_object_map, "hlro", 5, 0 },
	{ SYS_object_resize, "hl", 5, 0 }, { SYS_object_size, "h", 2, 0 },
	{ SYS_move_range, "alxp", 8, 0 }, { SYS_page_node, "apl", 4, 0 }, { SYS_info, "npl", 5, 0 },
	{ SYS_control, "npl", 5, 0 }, { SYS_tlbprobe, "na", 3, 0 }, { SYS_vmtest, "p", 3, 0 },
};

#define NR_CALLS (sizeof(table) / sizeof(table[0]))

/* Not the C library's: it needs errno, and so the FS base, which may be anything by now. */
static long raw_syscall(long number, const unsigned long a[6])
{
	register unsigned long r10 __asm__("r10") = a[3];
	register unsigned long r8 __asm__("r8") = a[4];
	register unsigned long r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static void invoke(long number, const char *kinds)
{
	unsigned long a[6] = { 0 };

	for (int i = 0; i < 6 && kinds[i]; i++)
		a[i] = argument(kinds[i]);
	raw_syscall(number, a);
	atomic_fetch_add_explicit(&shared->calls, 1, memory_order_relaxed);
}

static const struct call *choose(bool may_wait)
{
	static unsigned int total;
	unsigned int sum = 0, at;

	for (size_t i = 0; !total && i < NR_CALLS; i++)
		sum += table[i].weight;
	if (sum)
		total = sum;
	for (;;) {
		at = below(total);
		for (size_t i = 0; i < NR_CALLS; i++) {
			if (at < table[i].weight) {
				if (!(table[i].flags & WAITS) || (may_wait && below(8) == 0))
					return &table[i];
				break;
			}
			at -= table[i].weight;
		}
	}
}

/* Any number but those that make processes (see multiply) or take the thread-local data away. */
static long any_number(void)
{
	long number = below(2) ? (long)below(512) : (long)draw();

	if (number == SYS_clone || number == SYS_fork || number == SYS_vfork ||
	    number == SYS_arch_prctl)
		return SYS_getpid;
	return number;
}

static void one_call(bool may_wait)
{
	const struct call *call = choose(may_wait);

	if (below(10000) == 0)
		invoke(SYS_arch_prctl, "xp"); /* afterwards it has no thread-local data any more */
	else if (below(64) == 0)
		invoke(any_number(), below(2) ? "xxxxxx" : "papapl");
	else
		invoke(call->number, call->arguments);
}

/* A few children at a time, which do not wait for anything and end soon. */
static void multiply(void)
{
	pid_t pid;

	if (atomic_fetch_add(&shared->children, 1) < MAX_CHILDREN) {
		pid = fork();
		if (pid == 0) {
			for (int i = below(60); i; i--)
				one_call(false);
			if (below(4) == 0)
				execl("/bin/badptr", "badptr", "null", NULL);
			_exit(0);
		}
		if (pid > 0 && below(2))
			waitpid(pid, NULL, 0);
	}
	atomic_fetch_sub(&shared->children, 1);
}

static void touch(void)
{
	volatile uint8_t *p = object && below(2) ? object + below(OBJECT_PAGES) * PAGE :
						   (uint8_t *)arena_page();

	if (below(2))
		*p = 1;
	else
		(void)*p;
}

static void *attack(void *number)
{
	start_chance(0, (uintptr_t)number);
	for (int i = 0; i < LIFE / 8; i++) {
		if (below(500) == 0)
			multiply();
		else if (below(3000) == 0)
			touch();
		else if (below(40) == 0)
			mmap((void *)arena_page(), PAGE << below(4), PROT_READ | PROT_WRITE,
			     MAP_FIXED | MAP_ANONYMOUS | (below(2) ? MAP_SHARED : MAP_PRIVATE), -1, 0);
		else
			one_call(true);
	}
	return NULL;
}

/* ---- An evil pager ------------------------------------------------------------------------ */

static void *serve(void *number)
{
	start_chance(1, (uintptr_t)number);
	for (;;) {
		struct ipc_msg msg = { .page = arena_page(), .page_cap = PAGE,
				       .handle = IPC_NO_HANDLE };

		if (gather_ipc_recv(endpoint, &msg) != 0)
			return NULL;
		atomic_fetch_add_explicit(&shared->calls, 1, memory_order_relaxed);
		if (below(8) == 0)
			continue; /* never */
		msg.label = below(4) ? 0 : edge();
		msg.page = below(8) ? arena_page() : address();
		msg.page_len = below(4) ? PAGE : (uint32_t)length();
		msg.handle = below(8) ? IPC_NO_HANDLE : (int32_t)below(12);
		syscall(SYS_ipc_reply, &msg);
		if (below(8) == 0)
			syscall(SYS_ipc_reply, &msg); /* twice */
		if (below(16) == 0)
			syscall(SYS_object_resize, below(12), below(OBJECT_PAGES) * PAGE);
	}
}

static void become_a_pager(pthread_t *thread, unsigned int number)
{
	int handle;
	void *base;

	endpoint = (int)syscall(SYS_endpoint_create);
	handle = endpoint < 0 ? -1 : gather_object_create(endpoint, 7, OBJECT_PAGES * PAGE);
	base = handle < 0 ? MAP_FAILED :
	       gather_object_map(handle, OBJECT_PAGES * PAGE, PROT_READ | PROT_WRITE, 0);
	if (base != MAP_FAILED && pthread_create(thread, NULL, serve, (void *)(uintptr_t)number) == 0)
		object = base;
}

/* ---- Attackers and their supervisor ------------------------------------------------------- */

static void attacker(unsigned int number)
{
	pthread_t ids[MAX_THREADS], pager;

	for (int i = 0; i < 3; i++)
		close(i);
	mmap((void *)ARENA, ARENA_PAGES * PAGE, PROT_READ | PROT_WRITE,
	     MAP_FIXED | MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	start_chance(number, 0);
	if (number % 3 == 0)
		become_a_pager(&pager, number);
	for (unsigned int i = 1; i < threads; i++)
		if (pthread_create(&ids[i], NULL, attack, (void *)(uintptr_t)(number * 64 + i)))
			break;
	attack((void *)(uintptr_t)(number * 64));
	syscall(SYS_kill, 0, SIGKILL); /* itself, and what it forked that still waits for something */
}

/* Until it has ended; an attacker in which nothing happens any more is ended. */
static int supervise(pid_t pid)
{
	const struct timespec poll = { 0, 20000000 };
	unsigned long seen = 0;
	int status = 0, idle = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		idle = atomic_load(&shared->calls) == seen ? idle + 1 : 0;
		seen = atomic_load(&shared->calls);
		if (idle == PATIENCE)
			kill(-pid, SIGKILL);
		nanosleep(&poll, NULL);
	}
	return status;
}

int main(int argc, char **argv)
{
	const struct args_option options[] = {
		{ "--seed", .number = &seed, .min = 1, .max = 1 << 30 },
		{ "--calls", .number = &calls, .min = 1, .max = 2000000000 },
		{ "--threads", .number = &threads, .min = 1, .max = MAX_THREADS },
		{ 0 },
	};
	unsigned int attackers = 0, signalled = 0;

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	args_take_all(PROGRAM, usage, options, argc, argv);
	if (mmap(shared, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1,
		 0) == MAP_FAILED)
		return EXIT_BROKEN;
	while (atomic_load(&shared->calls) < calls) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			attacker(attackers);
		status = pid > 0 ? supervise(pid) : 0;
		atomic_store(&shared->children, 0);
		signalled += WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL;
		attackers++;
	}
	for (int i = 0; i < 4; i++)
		unlink(paths[i]);
	printf("RESULT workload=hostile seed=%u threads=%u calls=%lu attackers=%u signalled=%u\n", seed,
	       threads, atomic_load(&shared->calls), attackers, signalled);
	return EXIT_VERIFIED;
}
