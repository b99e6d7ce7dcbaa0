/* info.c - what the kernel tells about itself, and the few things it can be told (user/abi.h). */
#include "arch/paging.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "drivers/exit.h"
#include "drivers/lapic.h"
#include "user/abi.h"
#include "kernel/cmdline.h"
#include "kernel/lib.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "kernel/trace.h"
#include "mm/lru.h"
#include "mm/migrate.h"
#include "mm/mm.h"
#include "mm/node.h"
#include "mm/page_alloc.h"
#include "mm/reclaim.h"
#include "mm/slab.h"
#include "mm/tlb_batch.h"
#include "mm/vmalloc.h"

static void fill_memory(struct info_system *info)
{
	unsigned node;

	info->mem_total_pages = mem_total_pages;
	info->mem_free_pages = nr_free_pages();
	info->mem_boot_pages = mem_boot_pages;
	info->inactive_file = lru_nr(LRU_INACTIVE_FILE);
	info->active_file = lru_nr(LRU_ACTIVE_FILE);
	info->inactive_anon = lru_nr(LRU_INACTIVE_ANON);
	info->active_anon = lru_nr(LRU_ACTIVE_ANON);
	info->limbo_pages = limbo_pages();
	info->pagetable_pages = READ_ONCE(nr_table_pages);
	info->other_pages = info->mem_total_pages - info->mem_free_pages - info->inactive_file -
			    info->active_file - info->inactive_anon - info->active_anon -
			    info->limbo_pages - info->pagetable_pages;
	info->watermark_min = watermarks.min;
	info->watermark_low = watermarks.low;
	info->watermark_high = watermarks.high;
	info->nr_nodes = nr_nodes;
	for (node = 0; node < nr_nodes; node++)
		info->node_free_pages[node] = nr_free_pages_node(node);
}

/* Give a program the answer: its size, -EINVAL when the buffer is too small, or -EFAULT. */
static s64 answer(u64 buf, u64 size, const void *info, size_t bytes)
{
	if (size < bytes)
		return -EINVAL;
	return copy_to_user(buf, info, bytes) ? -EFAULT : (s64)bytes;
}

static s64 info_system(u64 buf, u64 size)
{
	struct info_system *info = kzalloc(sizeof(*info));
	s64 bytes;

	if (!info)
		return -ENOMEM;
	info->cpus_present = nr_cpus_present;
	info->cpus_online = cpus_online();
	info->uptime_ns = clock_ns();
	info->tsc_khz = clock_tsc_khz();
	fill_memory(info);
	info->batch_capacity = BATCH_TLBFLUSH_SIZE;
	info->interactive = cmdline_has("interactive");
	info->lazy_max_pages = READ_ONCE(lazy_max_pages);
	info->lazy_pages = (u64)READ_ONCE(vmap_lazy_nr);
	strlcpy(info->purge_policy, purge_policy_name(), sizeof(info->purge_policy));
	strlcpy(info->tlb_policy, tlb_policy->name, sizeof(info->tlb_policy));
	strlcpy(info->migrate_policy, migrate_policy_name(), sizeof(info->migrate_policy));
	strlcpy(info->apic_mode, lapic_mode(), sizeof(info->apic_mode));
	(void)cmdline_get("run", info->boot_command, sizeof(info->boot_command));
	strlcpy(info->cmdline, cmdline_text(), sizeof(info->cmdline));
	bytes = answer(buf, size, info, sizeof(*info));
	kfree(info);
	return bytes;
}

static s64 info_cpus(u64 buf, u64 size)
{
	u64 done = 0;
	unsigned cpu;
	s64 n;

	for_each_online_cpu(cpu) {
		n = answer(buf + done, size - done, &cpus[cpu].stat, sizeof(cpus[cpu].stat));
		if (n < 0)
			return n;
		done += (u64)n;
	}
	return (s64)done;
}

/* Collects under the tasks lock, so into kernel memory first. */
struct task_list {
	struct info_task *entries;
	u32 nr, max;
};

static char task_state(const struct task *task)
{
	struct thread *t;

	if (task->zombie)
		return 'Z';
	list_for_each(t, &task->threads, task_node)
		if (t->state == THREAD_RUNNING)
			return 'R';
	return 'S';
}

static bool add_task(struct task *task, void *arg)
{
	struct task_list *list = arg;
	struct info_task *entry = &list->entries[list->nr];

	if (list->nr == list->max)
		return false;
	entry->pid = task->pid;
	entry->ppid = task->ppid;
	entry->nr_threads = task->nr_threads;
	if (!list_empty(&task->threads))
		entry->cpu = list_first(&task->threads, struct thread, task_node)->cpu;
	entry->rss_pages = task_rss_pages(task);
	entry->pinned = task->server;
	entry->state = task_state(task);
	strlcpy(entry->name, task->name, sizeof(entry->name));
	list->nr++;
	return true;
}

#define SPARE_TASKS 16 /* may come between the count and the look */

static s64 info_tasks(u64 buf, u64 size)
{
	u64 max = MIN(size / sizeof(struct info_task), task_count() + SPARE_TASKS);
	struct task_list list = {.max = (u32)max};
	s64 bytes;

	if (!max)
		return 0;
	list.entries = vzalloc(max * sizeof(struct info_task));
	if (!list.entries)
		return -ENOMEM;
	for_each_task(add_task, &list);
	bytes = answer(buf, size, list.entries, list.nr * sizeof(struct info_task));
	vfree(list.entries);
	return bytes;
}

static s64 info_vmstat(u64 buf, u64 size)
{
	u64 sums[NR_VM_EVENTS];
	unsigned event;

	_Static_assert(sizeof(sums) == sizeof(struct info_vmstat), "one word per event");
	for (event = 0; event < NR_VM_EVENTS; event++)
		sums[event] = vm_event_sum(event);
	return answer(buf, size, sums, sizeof(sums));
}

static s64 info_trace(u64 buf, u64 size)
{
	struct trace_record record;
	unsigned cpu, slot;
	u64 done = 0;
	s64 n;

	for_each_online_cpu(cpu)
		for (slot = 0; slot < TRACE_RING_RECORDS; slot++) {
			if (!trace_read(cpu, slot, &record))
				continue;
			n = answer(buf + done, size - done, &record, sizeof(record));
			if (n < 0)
				return n;
			done += (u64)n;
		}
	return (s64)done;
}

s64 sys_info(u64 kind, u64 buf, u64 size)
{
	switch (kind) {
	case INFO_SYSTEM:
		return info_system(buf, size);
	case INFO_CPUS:
		return info_cpus(buf, size);
	case INFO_TASKS:
		return info_tasks(buf, size);
	case INFO_VMSTAT:
		return info_vmstat(buf, size);
	case INFO_TRACE:
		return info_trace(buf, size);
	}
	return -EINVAL;
}

/* The name of a policy, for whoever knows them. */
static s64 control_policy(int (*set)(const char *name), u64 arg, u64 size)
{
	char name[sizeof(((struct info_system *)0)->tlb_policy)] = "";

	if (size >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, arg, size))
		return -EFAULT;
	return set(name);
}

/* More than that would wrap where it is doubled and multiplied. */
static s64 set_lazy_max(u64 pages)
{
	if (pages > VMTEST_MAX_PAGES)
		return -EINVAL;
	WRITE_ONCE(lazy_max_pages, pages);
	return 0;
}

/* The last word on the counters: what an outside observer's counts are compared with. */
static void print_totals(void)
{
	union {
		struct tlb_counters named;
		u64 each[sizeof(struct tlb_counters) / sizeof(u64)];
	} sum = {0};
	unsigned cpu, i;

	for_each_online_cpu(cpu)
		for (i = 0; i < NR_TLB_REASONS * ARRAY_SIZE(sum.each); i++)
			sum.each[i % ARRAY_SIZE(sum.each)] += ((u64 *)cpus[cpu].stat.tlb)[i];
	kprintf("RESULT exp=totals cpus=%u icr=%lu targets=%lu taken=%lu coalesced=%lu flushes=%lu freed=%lu\n",
		cpus_online(), sum.named.icr, sum.named.targets, sum.named.taken,
		sum.named.coalesced, sum.named.flushes, sum.named.freed);
}

s64 sys_control(u64 op, u64 arg, u64 size)
{
	if (!handle_has_control(current->task))
		return -EPERM;
	switch (op) {
	case CONTROL_TLB_POLICY:
		return control_policy(tlb_policy_set, arg, size);
	case CONTROL_MIGRATE_POLICY:
		return control_policy(migrate_policy_set, arg, size);
	case CONTROL_PURGE_POLICY:
		return control_policy(purge_policy_set, arg, size);
	case CONTROL_LAZY_MAX:
		return set_lazy_max(arg);
	case CONTROL_POWEROFF:
		print_totals();
		exit_machine(arg ? EXIT_FAIL : EXIT_PASS);
	case CONTROL_REBOOT:
		machine_reboot();
	case CONTROL_DROP_CACHES:
		drop_caches();
		return 0;
	case CONTROL_TRACE:
		return trace_set(arg != 0);
	}
	return -EINVAL;
}
