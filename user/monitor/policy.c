/* policy.c - the command that shows and sets the TLB flush policy of reclaim. */
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

static void show_policies(const char *current)
{
	for (unsigned int i = 0; i < NR_POLICIES; i++)
		printf("%c %-8s %s\n", strcmp(policies[i].name, current) == 0 ? '*' : ' ',
		       policies[i].name, policies[i].meaning);
}

static bool known(const char *name)
{
	const char *names[NR_POLICIES + 1] = { NULL };
	const char *nearest;

	for (unsigned int i = 0; i < NR_POLICIES; i++) {
		names[i] = policies[i].name;
		if (strcmp(names[i], name) == 0)
			return true;
	}
	nearest = words_nearest(name, names);
	printf("tlb: no policy '%s'; ", name);
	if (nearest)
		printf("did you mean '%s'?\n", nearest);
	else
		printf("there are page, batch32, pfn and full\n");
	return false;
}

bool command_tlb(int argc, char **argv)
{
	struct info_system sys;

	if (argc > 1 && (!known(argv[1]) || !system_set_policy(argv[1])))
		return false;
	if (!system_info(&sys))
		return false;
	show_policies(sys.tlb_policy);
	return true;
}
