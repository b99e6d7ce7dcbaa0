/* policy.c - the commands that show and set the policies of reclaim's flushes and of purges. */
#include <stdio.h>
#include <string.h>

#include "user/lib/args.h"
#include "user/monitor/commands.h"
#include "user/monitor/policy.h"
#include "user/monitor/system.h"
#include "user/monitor/words.h"

const struct policy policies[NR_POLICIES] = {
	{ "page", 1, "one round of interrupts for every page unmapped (Linux before 4.3)" },
	{ "batch32", 32, "one round for 32 page frame numbers (an early version of the patch)" },
	{ "pfn", POLICY_BATCH_PAGE, "one round for a page full of frame numbers, kept longer" },
	{ "full", 32, "CPU mask only, one full flush at the end of each scan round (Linux 4.3)" },
};

static const struct {
	const char *name, *meaning;
} purges[] = {
	{ "spinlock", "a lock held, preemption off, over the flush and all frees (Linux before 4.10)" },
	{ "refcount", "a count of purges in place of the lock (the patch of 2016)" },
	{ "mutex", "a mutex; who must be sure sleeps, who only helps tries (Linux 4.10)" },
	{ "pernode", "lists and pools for each CPU; one flush for all who wait (after Linux 6.9)" },
};

#define NR_PURGES (sizeof(purges) / sizeof(purges[0]))

static void show_policy(const char *current, const char *name, const char *meaning)
{
	printf("%c %-8s %s\n", strcmp(name, current) == 0 ? '*' : ' ', name, meaning);
}

static bool known(const char *command, const char *name, const char *const names[])
{
	const char *nearest;

	for (unsigned int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	nearest = words_nearest(name, names);
	printf("%s: no policy '%s'; ", command, name);
	if (nearest) {
		printf("did you mean '%s'?\n", nearest);
		return false;
	}
	printf("there are");
	for (unsigned int i = 0; names[i]; i++)
		printf("%s %s", i == 0 ? "" : names[i + 1] ? "," : " and", names[i]);
	puts("");
	return false;
}

bool command_tlb(int argc, char **argv)
{
	const char *names[NR_POLICIES + 1] = { NULL };
	struct info_system sys;

	for (unsigned int i = 0; i < NR_POLICIES; i++)
		names[i] = policies[i].name;
	if (argc > 1 && (!known("tlb", argv[1], names) ||
			 !system_set_policy(CONTROL_TLB_POLICY, argv[1])))
		return false;
	if (!system_info(&sys))
		return false;
	for (unsigned int i = 0; i < NR_POLICIES; i++)
		show_policy(sys.tlb_policy, policies[i].name, policies[i].meaning);
	return true;
}

static bool set_lazy_max(const char *text)
{
	uint64_t pages;

	if (args_parse(text, 0, 1 << 24, &pages))
		return system_control(CONTROL_LAZY_MAX, pages, "that backlog");
	printf("purge: '%s' is not a number of pages\n", text);
	return false;
}

bool command_purge(int argc, char **argv)
{
	const char *names[NR_PURGES + 1] = { NULL };
	struct info_system sys;

	for (unsigned int i = 0; i < NR_PURGES; i++)
		names[i] = purges[i].name;
	if (argc > 1 && (!known("purge", argv[1], names) ||
			 !system_set_policy(CONTROL_PURGE_POLICY, argv[1])))
		return false;
	if (argc > 2 && !set_lazy_max(argv[2]))
		return false;
	if (!system_info(&sys))
		return false;
	for (unsigned int i = 0; i < NR_PURGES; i++)
		show_policy(sys.purge_policy, purges[i].name, purges[i].meaning);
	printf("%llu pages of freed kernel addresses wait for a flush; %llu may\n",
	       (ull)sys.lazy_pages, (ull)sys.lazy_max_pages);
	return true;
}
