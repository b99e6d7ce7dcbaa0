/* explore.c - CPUs as coroutines, and all orders in which they can run (see model.h). */
#include <asm/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/cpu.h"
#include "model.h"

#define STACK_SIZE  (64 * KIB)
#define MAX_CHOICES 4096
#define MAX_STEPS   20000 /* of one interleaving: more is a loop that never ends */
#define MAX_STUCK   3

struct model_cpu model_cpus[MODEL_CPUS];
bool model_running;
const struct scenario *scenario;

static char stacks[MODEL_CPUS][STACK_SIZE] __aligned(64);
static void *main_rsp;
static unsigned now;   /* the CPU whose turn it is */
static unsigned spent; /* preemptions in this interleaving */
static unsigned bound_now, steps;

unsigned model_cpu(void)
{
	return now;
}

/* ---- Choices: depth first, each path from the start ------------------------------------------ */

static struct choice {
	unsigned taken, of;
} choices[MAX_CHOICES];
static unsigned depth, known; /* choices made in this interleaving; made in advance */

unsigned choose(unsigned n)
{
	if (n == 1)
		return 0;
	require(depth < MAX_CHOICES, "more than %d choices in one interleaving", MAX_CHOICES);
	if (depth == known)
		choices[known++] = (struct choice){0, n};
	if (choices[depth].of != n) {
		fprintf(stderr, "choice %u had %u futures and now has %u: the scenario keeps state\n",
			depth, choices[depth].of, n);
		abort();
	}
	return choices[depth++].taken;
}

/* The next path: the last choice that has another future takes it. false: all were tried. */
static bool next_path(void)
{
	while (known && choices[known - 1].taken + 1 == choices[known - 1].of)
		known--;
	if (!known)
		return false;
	choices[known - 1].taken++;
	return true;
}

/* ---- Coroutines ------------------------------------------------------------------------------ */

void switch_stacks(void **save, void *load);
__asm__(".text\n"
	".globl switch_stacks\n"
	"switch_stacks:\n"
	"	pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp\n"
	"	ret\n");

/* The kernel finds its struct cpu at the GS base, which Linux leaves to programs. */
static void set_gs(struct cpu *cpu)
{
	static int fast = -1; /* the instruction, where the host allows it: it is used a million times */

	if (fast < 0)
		fast = (getauxval(AT_HWCAP2) & 2) != 0;
	if (fast)
		__asm__ volatile("wrgsbase %0" ::"r"(cpu) : "memory");
	else
		syscall(SYS_arch_prctl, ARCH_SET_GS, cpu);
}

bool on_own_stack(const void *address)
{
	return (u64)address - (u64)stacks[now] < STACK_SIZE;
}

static bool has_work(const struct model_cpu *cpu)
{
	return cpu->exists && (!cpu->done || cpu->in_interrupt);
}

/* Can this CPU do anything that it has not just done in vain? */
static bool can_run(const struct model_cpu *cpu)
{
	if (cpu->exists && cpu->irq_pending && cpu->irqs_on)
		return true;
	return has_work(cpu) && (!cpu->relaxed || cpu->awake);
}

static void run(unsigned next)
{
	struct model_cpu *cpu = &model_cpus[now];

	if (next == now)
		return;
	memory_leave();
	now = next;
	set_gs(&cpus[now]);
	memory_enter();
	switch_stacks(&cpu->rsp, model_cpus[next].rsp);
}

static void take_interrupt_if_chosen(void)
{
	struct model_cpu *cpu = &model_cpus[now];

	while (cpu->irq_pending && cpu->irqs_on && spent < bound_now && choose(2)) {
		spent++;
		machine_interrupt();
	}
}

/*
 * Of the CPUs that can run, the current one excepted, the number n; their count without a number.
 */
static unsigned others(unsigned n, unsigned *which)
{
	unsigned i, count = 0;

	for (i = 0; i < MODEL_CPUS; i++)
		if (i != now && can_run(&model_cpus[i]) && count++ == n)
			*which = i;
	return count;
}

void scheduling_point(void)
{
	unsigned next = now, pick;

	if (!model_running)
		return;
	require(++steps < MAX_STEPS, "no end after %d steps", MAX_STEPS);
	take_interrupt_if_chosen();
	if (spent == bound_now)
		return;
	pick = choose(1 + others(~0u, &next));
	if (!pick)
		return;
	others(pick - 1, &next);
	spent++;
	run(next);
	take_interrupt_if_chosen(); /* one that has come meanwhile */
}

/*
 * Nobody can go on unless something changes, and nothing does. Whoever relaxes outside a loop goes
 * on nevertheless: each gets a few turns.
 */
static unsigned next_stuck(void)
{
	unsigned i, best = MODEL_CPUS;

	for (i = 0; i < MODEL_CPUS; i++)
		if (has_work(&model_cpus[i]) &&
		    (best == MODEL_CPUS || model_cpus[i].stuck < model_cpus[best].stuck))
			best = i;
	if (best < MODEL_CPUS && ++model_cpus[best].stuck > MAX_STUCK)
		violation("deadlock: every CPU that is not done waits");
	return best;
}

/* PAUSE: a round of a spin loop that changed nothing is over, or it stands alone. */
void give_way(void)
{
	struct model_cpu *cpu = &model_cpus[now];
	unsigned next = now, count;

	memory_drain_others(); /* who waits long enough sees every store */
	if (cpu->awake && has_work(cpu)) {
		scheduling_point();
	} else {
		require(++steps < MAX_STEPS, "no end after %d steps", MAX_STEPS);
		cpu->relaxed = true;
		count = others(~0u, &next) + can_run(cpu);
		if (count)
			others(choose(count), &next);
		else
			next = next_stuck();
		if (next == MODEL_CPUS) { /* all done */
			switch_stacks(&cpu->rsp, main_rsp);
			abort();
		}
		run(next);
	}
	if (cpu->awake)
		cpu->stuck = 0;
	cpu->relaxed = cpu->awake = false;
	memory_forget_reads();
	while (cpu->irq_pending && cpu->irqs_on)
		machine_interrupt();
}

static void cpu_main(void)
{
	scenario->script[now]();
	model_cpus[now].done = true;
	for (;;)
		give_way(); /* and takes interrupts */
}

static void create_cpu(unsigned i)
{
	void **top = (void **)(stacks[i] + STACK_SIZE) - 1;

	*--top = cpu_main; /* where switch_stacks returns to; the stack is then as after a call */
	model_cpus[i] = (struct model_cpu){
		.rsp = top - 6, .exists = true, .irqs_on = true, .awake = true};
}

/* ---- Exploring ------------------------------------------------------------------------------- */

/* One interleaving: the first choices are known, the others are 0. */
static void run_path(void)
{
	void *rsp;
	unsigned i;

	depth = spent = steps = 0;
	trace_reset();
	memory_reset();
	machine_reset();
	for (i = 0; i < MODEL_CPUS; i++) {
		model_cpus[i] = (struct model_cpu){0};
		if (scenario->script[i])
			create_cpu(i);
	}
	now = 0;
	set_gs(&cpus[0]);
	scenario->setup();
	now = choose(MODEL_CPUS - !scenario->script[1] - !scenario->script[2]);
	set_gs(&cpus[now]);
	model_running = true;
	rsp = model_cpus[now].rsp;
	switch_stacks(&main_rsp, rsp);
	memory_drain_all();
	model_running = false;
	if (scenario->check)
		scenario->check();
}

static u64 run_all(void)
{
	u64 count = 0;

	known = 0;
	do {
		run_path();
		count++;
	} while (next_path());
	return count;
}

/* Fewest preemptions first, so that a counterexample is as short as it can be. */
u64 explore(const struct scenario *which, unsigned bound)
{
	u64 count = 0;

	scenario = which;
	for (bound_now = 0; bound_now <= bound; bound_now++)
		do
			count = run_all();
		while (memory_learn()); /* which words are shared is known only afterwards */
	printf("#   %lu interleavings with up to %u preemptions, %u shared words\n", count, bound,
	       memory_shared());
	return count;
}
