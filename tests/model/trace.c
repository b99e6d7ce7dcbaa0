/* trace.c - what an interleaving did, and how a counterexample is printed. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* notes are written out late */

#define MAX_TRACE 4096
#define MAX_NAMES 128

struct step {
	unsigned cpu;
	void *pc; /* NULL: a note */
	const char *what;
	const void *address;
	size_t size;
	u64 value;
	const char *text; /* a note's format, and what goes into it: written out only when printed */
	u64 args[2];
};

static struct step trace[MAX_TRACE];
static unsigned nr_steps;

static struct {
	const char *start;
	size_t size;
	char text[40];
} names[MAX_NAMES];
static unsigned nr_names;
static bool all_named; /* the first interleaving has named everything: objects stay where they are */

void trace_reset(void)
{
	all_named = nr_names != 0;
	nr_steps = 0;
}

static struct step *next_step(void)
{
	struct step *step = &trace[nr_steps % MAX_TRACE];

	nr_steps++;
	step->cpu = model_cpu();
	step->pc = NULL;
	return step;
}

void trace_access(void *pc, const char *what, const void *address, size_t size)
{
	struct step *step = next_step();

	step->pc = pc;
	step->what = what;
	step->address = address;
	step->size = size;
	step->value = 0;
	if (address)
		memcpy(&step->value, address, MIN(size, sizeof(step->value)));
}

void __note(const char *fmt, u64 a, u64 b)
{
	struct step *step = next_step();

	step->text = fmt;
	step->args[0] = a;
	step->args[1] = b;
}

void name_memory(const void *p, size_t size, const char *fmt, ...)
{
	va_list args;

	if (all_named)
		return;
	if (nr_names == MAX_NAMES)
		abort();
	names[nr_names].start = p;
	names[nr_names].size = size;
	va_start(args, fmt);
	vsnprintf(names[nr_names++].text, sizeof(names[0].text), fmt, args);
	va_end(args);
}

static const char *name_of(const void *address)
{
	static char unnamed[24];
	unsigned i;

	for (i = nr_names; i-- > 0;)
		if ((const char *)address - names[i].start >= 0 &&
		    (size_t)((const char *)address - names[i].start) < names[i].size)
			return names[i].text;
	snprintf(unnamed, sizeof(unnamed), "%p", address);
	return unnamed;
}

/* Function and line, of the innermost .c file: an inline function of a header says little. */
static void describe_pc(const void *pc, char *where, size_t size)
{
	char command[128], function[128], line[256], *file;
	FILE *pipe;

	snprintf(where, size, "%p", pc);
	snprintf(command, sizeof(command), "addr2line -i -f -e /proc/%d/exe %p", getpid(),
		 (const void *)((const char *)pc - 1));
	pipe = popen(command, "r");
	while (pipe && fgets(function, sizeof(function), pipe) && fgets(line, sizeof(line), pipe)) {
		function[strcspn(function, "\n")] = 0;
		line[strcspn(line, " \n")] = 0;
		file = strrchr(line, '/');
		snprintf(where, size, "%.24s %.36s", file ? file + 1 : line, function);
		if (strstr(line, ".c:"))
			break;
	}
	if (pipe)
		pclose(pipe);
}

static void print_step(const struct step *step)
{
	char where[64];

	if (!step->pc) {
		printf("#   cpu%u  -- ", step->cpu);
		printf(step->text, step->args[0], step->args[1]);
		printf("\n");
		return;
	}
	describe_pc(step->pc, where, sizeof(where));
	if (step->address)
		printf("#   cpu%u  %-38s %-8s %s (%lx)\n", step->cpu, where, step->what,
		       name_of(step->address), step->value);
	else
		printf("#   cpu%u  %-38s %s\n", step->cpu, where, step->what);
}

void trace_print(void)
{
	unsigned i = nr_steps > MAX_TRACE ? nr_steps - MAX_TRACE : 0;

	for (; i < nr_steps; i++)
		print_step(&trace[i % MAX_TRACE]);
}

void violation(const char *fmt, ...)
{
	va_list args;

	printf("# counterexample (accesses to shared words; in brackets what was there before):\n");
	trace_print();
	printf("# VIOLATION on cpu%u: ", model_cpu());
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(1);
}
