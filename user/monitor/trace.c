/* trace.c - the command that records events and shows the last ones of all CPUs in their order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/args.h"
#include "user/monitor/commands.h"
#include "user/monitor/system.h"
#include "user/monitor/words.h"

#define DEFAULT_EVENTS 64

#define X(event, a, b) { #event, #a, #b },
static const char *const names[NR_TRACE_EVENTS][3] = { TRACE_EVENTS(X) };
#undef X

static void print_argument(const char *name, uint64_t value)
{
	if (strcmp(name, "name") == 0)
		printf(" name=%.8s", (const char *)&value);
	else
		printf(" %s=%llx", name, (ull)value);
}

/* As the kernel prints them when it panics. */
static void print_record(const struct trace_record *r)
{
	const char *const *name = names[r->event % NR_TRACE_EVENTS];

	printf("%8llu %4llu.%09llu cpu%u tid %u %s", (ull)r->order, (ull)r->ns / 1000000000,
	       (ull)r->ns % 1000000000, r->cpu, r->tid, name[0]);
	print_argument(name[1], r->a);
	print_argument(name[2], r->b);
	putchar('\n');
}

static int by_order(const void *a, const void *b)
{
	const struct trace_record *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static bool dump(uint64_t wanted)
{
	struct trace_record *records;
	struct info_system sys;
	size_t count, i;

	if (!system_info(&sys))
		return false;
	records = malloc(sys.cpus_online * TRACE_RING_BYTES);
	if (!records || !system_trace(records, sys.cpus_online * TRACE_RING_BYTES, &count)) {
		free(records);
		return false;
	}
	qsort(records, count, sizeof(*records), by_order);
	for (i = count > wanted ? count - wanted : 0; i < count; i++)
		print_record(&records[i]);
	if (!count)
		puts("no events: `trace on` records them, and so does trace=on at boot");
	free(records);
	return true;
}

static bool unknown(const char *word)
{
	static const char *const words[] = { "on", "off", "dump", NULL };
	const char *nearest = words_nearest(word, words);

	if (nearest)
		printf("trace: no '%s'; did you mean '%s'?\n", word, nearest);
	else
		printf("trace: no '%s'; there are on, off and dump\n", word);
	return false;
}

bool command_trace(int argc, char **argv)
{
	uint64_t events = DEFAULT_EVENTS;
	bool on = strcmp(argv[1], "on") == 0;

	if (strcmp(argv[1], "dump") == 0) {
		if (argc < 3 || args_parse(argv[2], 1, UINT32_MAX, &events))
			return dump(events);
		printf("trace: '%s' is not a number of events\n", argv[2]);
		return false;
	}
	if (!on && strcmp(argv[1], "off") != 0)
		return unknown(argv[1]);
	if (argc < 3)
		return system_control(CONTROL_TRACE, on, "to trace");
	printf("trace: %s takes no argument\n", argv[1]);
	return false;
}
