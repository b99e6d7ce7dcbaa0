/*
 * vmap_purge.c - from freed to free again: lazy lists, one flush for many areas, and four ways to
 * go about it (`purge=`).
 *
 *   spinlock   Linux before October 2016: purge_lock is held, preemption off, over the flush and
 *              all frees. A backlog of 32,768 pages is one long pause for everybody on that CPU.
 *   refcount   Joel Fernandes's patch of that month ("mm: vmalloc: Replace purge_lock spinlock with
 *              atomic refcount"): a count of purges instead of the lock, and a preemption point
 *              after each area. Its read of an area that was just freed is corrected here; that a
 *              second purger finds the list empty and returns, while the first has flushed nothing
 *              yet, is what the patch does, and stays: vm_unmap_aliases does not keep its promise.
 *   mutex      Linux 4.10 (Christoph Hellwig): the count became a mutex. Who must be sure sleeps
 *              until the other is through; who only wants to help tries. Since 2019 (Uladzislau
 *              Rezki) no preemption point while the backlog is over twice its limit: or a purger
 *              that gets little time never catches up with those who free.
 *   pernode    every CPU has a list of its own and pools of flushed areas by size (Uladzislau
 *              Rezki, Linux 6.9, per node). A round serves all who asked before it took the lists:
 *              whoever waited for the mutex looks first whether a round began after its own areas
 *              were queued. Each area is freed by itself, with preemption on; whoever frees while
 *              the backlog is over twice its limit waits for a round, which is what keeps the
 *              purger from starving.
 *
 * All of them take lists whole, so no two purges ever hold the same area.
 */
#include "arch/cpu.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/mutex.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/trace.h"
#include "kernel/wait.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"
#include "mm/tlb.h"
#include "mm/tlbsan.h"
#include "mm/vmalloc.h"
#include "mm/vmap.h"

#define LAZY_MAX_UNIT (32 * MIB >> PAGE_SHIFT) /* per fls(CPUs), as Linux */

struct purge_policy {
	const char *name;
	bool per_cpu;
	/* Purge what was queued before the call; not sync: or do nothing if somebody is at it. */
	void (*purge)(bool sync);
};

/* What a purge has taken: its own. */
struct purge_list {
	struct llist_node *areas;
	u64 start, end; /* to be flushed */
};

s64 vmap_lazy_nr;
u64 lazy_max_pages, vmap_lazy_peak;
bool vmap_frames_held = true;

static struct llist_head lazy[NR_CPUS]; /* the first alone, unless the policy is per CPU */

static const struct lock_class purge_class = {"vmap purge", RANK_VMALLOC, false};
static struct mutex purge_mutex;
static const struct purge_policy *policy;

/* Policies exclude each other by different means, so they change only while nobody purges. */
static struct mutex policy_mutex;
static struct wait_queue policy_wait;
static bool policy_changes;
static u32 purges; /* in progress */

/* ---- The steps ------------------------------------------------------------------------------- */

static void widen(struct purge_list *list, u64 start, u64 end)
{
	list->start = MIN(list->start, start);
	list->end = MAX(list->end, end);
}

/* All that is queued; sync: also what lies in blocks. false: nothing. */
static bool take_lazy(struct purge_list *list, bool sync)
{
	struct llist_node *node, *next;
	unsigned cpu;

	*list = (struct purge_list){NULL, ~0ul, 0};
	if (sync)
		vmap_blocks_dirty(&list->start, &list->end);
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		llist_for_each_safe(node, next, llist_empty(&lazy[cpu]) ? NULL : llist_del_all(&lazy[cpu])) {
			widen(list, vmap_area_of(node)->node.start, vmap_area_of(node)->node.end);
			node->next = list->areas;
			list->areas = node;
		}
	SYNC_POINT(purge_taken);
	return list->end > list->start;
}

static void flush_lazy(const struct purge_list *list)
{
	flush_tlb_kernel_range(list->start, list->end);
	count_vm_event(vmap_purges);
	SYNC_POINT(purge_flushed);
}

static void free_frames(const struct vmap_area *area)
{
	if (area->held)
		vmap_free_held(area->node.start, area->node.end);
}

void free_vmap_area(struct vmap_area *area)
{
	tlbsan_check_range(NULL, area->node.start, area->node.end, tlbsan_now());
	TRACE(purge, area->node.start, vmap_pages(area));
	vmap_tree_remove(&vmap_areas, &area->node);
	kfree(area);
}

static void no_longer_lazy(u64 pages)
{
	s64 left = atomic_sub_fetch(&vmap_lazy_nr, (s64)pages);

	ASSERT(left >= 0, "vmap_lazy_nr is %ld after %lu pages were freed", left, pages);
}

static bool below_threshold(void)
{
	return READ_ONCE(vmap_lazy_nr) < 2 * (s64)READ_ONCE(lazy_max_pages);
}

static bool never(void)
{
	return false;
}

static bool always(void)
{
	return true;
}

/* Under the lock; where may_resched says so, it is let go of when somebody wants the CPU. */
static void free_lazy(const struct purge_list *list, bool (*may_resched)(void))
{
	struct llist_node *node, *next;
	u64 pages;

	spin_guard(&vmap_area_lock);
	llist_for_each_safe(node, next, list->areas) {
		pages = vmap_pages(vmap_area_of(node)); /* now: afterwards it is gone */
		free_frames(vmap_area_of(node));
		free_vmap_area(vmap_area_of(node));
		no_longer_lazy(pages);
		if (may_resched() && this_cpu_read(need_resched)) {
			spin_unlock(&vmap_area_lock);
			spin_lock(&vmap_area_lock);
		}
	}
}

static void purge_all(bool sync, bool (*may_resched)(void))
{
	struct purge_list list;

	if (!take_lazy(&list, sync))
		return;
	flush_lazy(&list);
	free_lazy(&list, may_resched);
}

/* ---- spinlock -------------------------------------------------------------------------------- */

/*
 * Not one of lock.h's: those are never held while waiting for IPIs. Here it is safe, because it is
 * only ever spun for with interrupts on.
 */
static u32 purge_lock;

static void purge_spinlock(bool sync)
{
	preempt_disable();
	while (!cmpxchg_bool(&purge_lock, 0u, 1u)) {
		if (!sync) {
			preempt_enable();
			return;
		}
		cpu_relax();
	}
	purge_all(sync, never);
	store_release(&purge_lock, 0u);
	preempt_enable();
}

/* ---- refcount -------------------------------------------------------------------------------- */

static u32 purging;

static void purge_refcount(bool sync)
{
	if (sync)
		atomic_inc(&purging);
	else if (!cmpxchg_bool(&purging, 0u, 1u))
		return;
	purge_all(sync, always);
	atomic_dec(&purging);
}

/* ---- mutex ----------------------------------------------------------------------------------- */

static void purge_with_mutex(bool sync)
{
	if (sync)
		mutex_lock(&purge_mutex);
	else if (!mutex_trylock(&purge_mutex))
		return;
	purge_all(sync, below_threshold);
	mutex_unlock(&purge_mutex);
}

/* ---- pernode --------------------------------------------------------------------------------- */

/* Rounds that have begun, before they take the lists, and rounds that are through. */
static u64 rounds_begun, rounds_done;

/* One by one: between any two of them the CPU can be had. */
static void free_one_by_one(const struct purge_list *list)
{
	struct llist_node *node, *next;
	u64 pages;

	llist_for_each_safe(node, next, list->areas) {
		pages = vmap_pages(vmap_area_of(node));
		free_frames(vmap_area_of(node));
		if (!vmap_pool_put(vmap_area_of(node))) {
			spin_guard(&vmap_area_lock);
			free_vmap_area(vmap_area_of(node));
		}
		no_longer_lazy(pages);
	}
}

static void purge_pernode(bool sync)
{
	u64 mine = READ_ONCE(rounds_begun) + 1; /* the first that surely sees what is queued now */
	struct purge_list list;

	if (sync || !below_threshold())
		mutex_lock(&purge_mutex);
	else if (!mutex_trylock(&purge_mutex))
		return;
	if (rounds_done < mine) {
		(void)atomic_add_fetch(&rounds_begun, 1); /* a full barrier: before the lists are taken */
		if (take_lazy(&list, true)) {
			flush_lazy(&list);
			free_one_by_one(&list);
		}
		rounds_done = rounds_begun;
	}
	mutex_unlock(&purge_mutex);
}

/* ---- All of them ----------------------------------------------------------------------------- */

static const struct purge_policy policies[] = {
	{"pernode", true, purge_pernode}, /* the default: see docs/14-vmalloc.md for the figures */
	{"mutex", false, purge_with_mutex},
	{"refcount", false, purge_refcount},
	{"spinlock", false, purge_spinlock},
};

static void end_purge(void)
{
	if (atomic_dec_and_test(&purges) && READ_ONCE(policy_changes))
		wake_up_all(&policy_wait);
}

/* false: the policy changes, and it need not be. */
static bool begin_purge(bool sync)
{
	for (;;) {
		atomic_inc(&purges); /* locked: before the look */
		if (!READ_ONCE(policy_changes))
			return true;
		end_purge();
		if (!sync)
			return false;
		mutex_lock(&policy_mutex); /* it has changed then */
		mutex_unlock(&policy_mutex);
	}
}

static void purge(bool sync)
{
	if (!begin_purge(sync))
		return;
	policy->purge(sync);
	end_purge();
}

void purge_queue(struct vmap_area *area)
{
	u64 start = area->node.start, end = area->node.end, mark = tlbsan_now();
	s64 nr = atomic_add_fetch(&vmap_lazy_nr, (s64)vmap_pages(area)); /* first: never negative */

	if (nr > (s64)READ_ONCE(vmap_lazy_peak))
		WRITE_ONCE(vmap_lazy_peak, (u64)nr);
	(void)llist_add(&area->lazy, &lazy[READ_ONCE(policy)->per_cpu ? smp_cpu_id() : 0]);
	tlbsan_vmap_queued(start, end, mark);
}

void purge_if_many(void)
{
	if (READ_ONCE(vmap_lazy_nr) > (s64)READ_ONCE(lazy_max_pages))
		purge(false);
}

void vm_unmap_aliases(void)
{
	u64 mark = tlbsan_now();

	assert_may_sleep("vm_unmap_aliases");
	purge(true);
	tlbsan_check_aliases(mark);
}

void purge_vmap_area_lazy(void)
{
	purge(true);
	vmap_pools_drain();
}

bool vmap_give_back(void)
{
	if (!READ_ONCE(vmap_lazy_nr))
		return false;
	purge(true);
	return true;
}

bool purge_keeps_pools(void)
{
	return READ_ONCE(policy)->per_cpu;
}

u64 vmap_lazy_listed(void)
{
	struct llist_node *node;
	u64 pages = 0;
	unsigned cpu;

	for (cpu = 0; cpu < NR_CPUS; cpu++)
		for (node = READ_ONCE(lazy[cpu].first); node; node = node->next)
			pages += vmap_pages(vmap_area_of(node));
	return pages;
}

const char *purge_policy_name(void)
{
	return policy->name;
}

/* Who purges comes to an end first; who comes meanwhile waits for the new policy. */
static void change_policy(const struct purge_policy *to)
{
	mutex_lock(&policy_mutex);
	(void)xchg(&policy_changes, true); /* locked: before the count is looked at */
	wait_event(&policy_wait, !READ_ONCE(purges));
	WRITE_ONCE(policy, to);
	WRITE_ONCE(policy_changes, false);
	vmap_pools_drain(); /* not every policy uses them */
	mutex_unlock(&policy_mutex);
}

int purge_policy_set(const char *name)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i].name, name)) {
			if (scheduler_running)
				change_policy(&policies[i]);
			else
				policy = &policies[i];
			return 0;
		}
	return -EINVAL;
}

/* Twice: at boot, and when the number of CPUs is known. */
void purge_init(void)
{
	unsigned nr_cpus = MAX(cpus_online(), 1u);
	char value[16];

	if (!scheduler_running) {
		mutex_init(&purge_mutex, &purge_class);
		mutex_init(&policy_mutex, &purge_class);
		wait_queue_init(&policy_wait);
	}
	policy = policies;
	lazy_max_pages = (32 - __builtin_clz(nr_cpus)) * MIN(LAZY_MAX_UNIT, mem_total_pages / 64);
	(void)cmdline_get_u64("lazy_max_pages", &lazy_max_pages);
	if (cmdline_get("vmap_frames", value, sizeof(value)) > 0)
		vmap_frames_held = strcmp(value, "early") != 0;
	if (cmdline_get("purge", value, sizeof(value)) > 0 && purge_policy_set(value) &&
	    scheduler_running)
		pr_warn("purge=%s: there are spinlock, refcount, mutex and pernode\n", value);
}
