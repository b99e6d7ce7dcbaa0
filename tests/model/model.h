/*
 * model.h - a model checker for the kernel's own sources (docs/11-model.md).
 *
 * The sources are compiled with -fsanitize=thread, but linked with these files instead of the
 * sanitizer: GCC then calls a hook before every memory access (hooks.c). CPUs are coroutines of one
 * process (explore.c); a hook is where the CPU can lose its turn, take an interrupt, or read a word
 * that another CPU has written but not yet let out of its store buffer. Each such question is a
 * choice, and all sequences of choices are tried, depth first, up to a number of preemptions.
 */
#ifndef TESTS_MODEL_MODEL_H
#define TESTS_MODEL_MODEL_H

#include "kernel/types.h"

#define MODEL_CPUS 3

/* What a scenario is: everything in it runs again for every interleaving. */
struct scenario {
	const char *name;
	const char *about;
	unsigned bound;                     /* preemptions: `model -b` tries another */
	void (*setup)(void);                /* the state at the start; no CPU runs */
	void (*script[MODEL_CPUS])(void);   /* NULL: there is no such CPU */
	void (*interrupt)(void);            /* NULL: the kernel's handler of VEC_TLB */
	void (*check)(void);                /* the state at the end; may be NULL */
};

extern const struct scenario shootdown_scenarios[], batch_scenarios[], llist_scenarios[];

/* ---- For scenarios --------------------------------------------------------------------------- */

/* The property is violated: print the interleaving, end the scenario. */
void __noreturn violation(const char *fmt, ...) __printf(1, 2);
#define require(cond, ...)                                                                         \
	do {                                                                                       \
		if (!(cond))                                                                       \
			violation(__VA_ARGS__);                                                    \
	} while (0)
/* A line of its own in a counterexample; up to two u64 (%lu, %lx) go into it. */
#define note(...)         note_args(__VA_ARGS__, 0, 0, 0)
#define note_args(fmt, a, b, ...) __note(fmt, a, b)
void __note(const char *fmt, u64 a, u64 b);
/* What a counterexample calls the object at p. */
void name_memory(const void *p, size_t size, const char *fmt, ...) __printf(3, 4);
#define NAME(lvalue) name_memory(&(lvalue), sizeof(lvalue), "%s", #lvalue)

unsigned model_cpu(void); /* who runs */

/* ---- explore.c for the others ---------------------------------------------------------------- */

struct model_cpu {
	void *rsp; /* while it does not run */
	bool exists, done, relaxed;
	bool irqs_on, irq_pending, in_interrupt;
	/* Since it last came out of cpu_relax it wrote something, or what it read was changed. */
	bool awake;
	unsigned stuck; /* turns taken without that */
};

extern struct model_cpu model_cpus[MODEL_CPUS];
extern bool model_running; /* a CPU runs, not set-up or check */

/* One of n >= 1 futures; 0 is tried first. */
unsigned choose(unsigned n);
/* Before each step of the current CPU that others can see or see the effect of. */
void scheduling_point(void);
/* Any CPU may be given the turn, at no cost: this one can do nothing by itself. */
void give_way(void);
/* The step that comes now, for the counterexample. */
void trace_access(void *pc, const char *what, const void *address, size_t size);
/* The range is on the current CPU's own stack. */
bool on_own_stack(const void *address);
/* Runs and counts a scenario's interleavings; a violation ends the process. */
u64 explore(const struct scenario *scenario, unsigned bound);
extern const struct scenario *scenario;

/* trace.c */
void trace_reset(void);
void trace_print(void);

/* memory.c */
void memory_reset(void);       /* before each interleaving: store buffers are empty */
bool memory_learn(void);       /* take newly found shared words into account; false: there are none */
unsigned memory_shared(void);  /* how many there are */
void memory_leave(void);       /* the current CPU loses its turn: its stores go out of sight */
void memory_enter(void);       /* ... gets it */
void memory_fence(void);       /* the current CPU's stores are seen by all */
void memory_drain_others(void);
/* For the hooks. An access by the current CPU: does it concern others? */
bool memory_use(const void *address, size_t size, bool write);
void memory_finish_store(void);                     /* the last announced store has been made */
void memory_announce(char *address, size_t size);   /* this store is about to be made */
/* Which stores of others the current CPU sees here: a choice. */
void memory_choose_drains(const char *address, size_t size);
void memory_note_read(const void *address);
void memory_note_change(const void *address); /* all can see it */
void memory_forget_reads(void); /* the current CPU begins a new round of its loop */
void memory_drain_all(void);

/* machine.c: the CPUs' instructions, and the kernel around the sources. */
void machine_reset(void);
void machine_interrupt(void); /* the current CPU takes its interrupt */
void request_written(const void *address, size_t size); /* is a request changed that is in use? */

#endif
