/*
 * policy.h - the ways in which reclaim and migration can flush TLBs.
 */
#ifndef USER_MONITOR_POLICY_H
#define USER_MONITOR_POLICY_H

#define NR_POLICIES         4
#define NR_MIGRATE_POLICIES 4

/* Stands for info_system.batch_capacity, which depends on the size of the CPU mask. */
#define POLICY_BATCH_PAGE 0

struct policy {
	const char *name;
	unsigned int capacity; /* pages one flush can serve */
	const char *meaning;
};

extern const struct policy policies[NR_POLICIES];
extern const struct policy migrate_policies[NR_MIGRATE_POLICIES];

#endif
