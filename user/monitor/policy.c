/*
 * policy.c - the commands that show and set how reclaim and migration flush, and how addresses are
 * purged.
 */
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

const struct policy migrate_policies[NR_MIGRATE_POLICIES] = {
	{ "page", 1, "unmap, flush, copy, remap: one page at a time" },
	{ "batch", POLICY_BATCH_PAGE, "unmap all, one flush, copy all, remap all" },
	{ "late", POLICY_BATCH_PAGE, "flush after the copy: loses stores (needs unsafe=1)" },
	{ "clean-late", POLICY_BATCH_PAGE, "clean pages after the remap: old reads (needs unsafe=1)" },
};

static const struct policy purge_policies[NR_POLICIES] = {
	{ "spinlock", 0, "a lock held, preemption off, over the flush and all frees (Linux before 4.10)" },
	{ "refcount", 0, "a count of purges in place of the lock (the patch of 2016)" },
	{ "mutex", 0, "a mutex; who must be sure sleeps, who only helps tries (Linux 4.10)" },
	{ "pernode", 0, "lists and pools for each CPU; one flush for all who wait (after Linux 6.9)" },
};

static void show_policies(const struct policy *all, const char *current)
{
	for (unsigned int i = 0; i < NR_POLICIES; i++)
		printf("%c %-10s %s\n", strcmp(all[i].name, current) == 0 ? '*' : ' ', all[i].name,
		       all[i].meaning);
}

static bool known(const char *command, const struct policy *all, const char *name)
{
	const char *names[NR_POLICIES + 1] = { NULL };
	const char *nearest;

	for (unsigned int i = 0; i < NR_POLICIES; i++) {
		names[i] = all[i].name;
		if (strcmp(names[i], name) == 0)
			return true;
	}
	nearest = words_nearest(name, names);
	printf("%s: no policy '%s'; ", command, name);
	if (nearest)
		printf("did you mean '%s'?\n", nearest);
	else
		printf("there are %s, %s, %s and %s\n", names[0], names[1], names[2], names[3]);
	return false;
}

static bool set_policy(char **argv, enum control_op op, const struct policy *all)
{
	return known(argv[0], all, argv[1]) && system_set_policy(op, argv[1]);
}

bool command_tlb(int argc, char **argv)
{
	struct info_system sys;

	if ((argc > 1 && !set_policy(argv, CONTROL_TLB_POLICY, policies)) || !system_info(&sys))
		return false;
	show_policies(policies, sys.tlb_policy);
	return true;
}

bool command_migrate(int argc, char **argv)
{
	struct info_system sys;

	if ((argc > 1 && !set_policy(argv, CONTROL_MIGRATE_POLICY, migrate_policies)) ||
	    !system_info(&sys))
		return false;
	show_policies(migrate_policies, sys.migrate_policy);
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
	struct info_system sys;

	if ((argc > 1 && !set_policy(argv, CONTROL_PURGE_POLICY, purge_policies)) ||
	    (argc > 2 && !set_lazy_max(argv[2])) || !system_info(&sys))
		return false;
	show_policies(purge_policies, sys.purge_policy);
	printf("%llu pages of freed kernel addresses wait for a flush; %llu may\n",
	       (ull)sys.lazy_pages, (ull)sys.lazy_max_pages);
	return true;
}
