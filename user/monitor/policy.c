/* policy.c - the commands that show and set how reclaim and migration flush TLBs. */
#include <stdio.h>
#include <string.h>

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

bool command_tlb(int argc, char **argv)
{
	struct info_system sys;

	if (argc > 1 && (!known("tlb", policies, argv[1]) || !system_set_policy(argv[1])))
		return false;
	if (!system_info(&sys))
		return false;
	show_policies(policies, sys.tlb_policy);
	return true;
}

bool command_migrate(int argc, char **argv)
{
	struct info_system sys;

	if (argc > 1 && (!known("migrate", migrate_policies, argv[1]) ||
			 !system_set_migrate_policy(argv[1])))
		return false;
	if (!system_info(&sys))
		return false;
	show_policies(migrate_policies, sys.migrate_policy);
	return true;
}
