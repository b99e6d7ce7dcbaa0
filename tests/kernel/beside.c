/* beside.c - one address space and threads beside the test (see beside.h). */
#include "tests/kernel/beside.h"
#include "arch/cpu.h"
#include "arch/paging.h"
#include "drivers/clock.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/ipc.h"
#include "kernel/sched.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "mm/buddy.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb_batch.h"
#include "mm/vmalloc.h"
#include "mm/vmap.h"
#include "tests/kernel/ktest.h"

#define RW (VMA_READ | VMA_WRITE | VMA_MAYWRITE)

struct mm *space;
u32 wrong, phase, ended;

u64 map_one_page(void)
{
	return (u64)mm_map(space, 0, PAGE_SIZE, RW, NULL, 0, NULL, MAP_NEAR);
}

void begin_space(void)
{
	sched_set_affinity(current, CPU_BIT(smp_cpu_id()));
	space = mm_create(false);
	mm_switch_current(space);
	wrong = phase = ended = 0;
}

void end_space(void)
{
	mm_switch_current(NULL);
	mm_put(space);
	sched_set_affinity(current, CPUMASK_ALL);
}

void start_on(unsigned cpu, void (*fn)(void *), u64 arg, struct mm *mm)
{
	struct thread *t = thread_create("beside", fn, (void *)arg, PRIO_USER, NULL, mm);

	sched_set_affinity(t, CPU_BIT(cpu));
	thread_start(t);
}

unsigned other_cpu(unsigned n)
{
	cpumask_t others = cpu_online_mask & ~CPU_BIT(smp_cpu_id());

	while (n--)
		others &= others - 1;
	return others ? cpumask_first(others) : smp_cpu_id();
}

void let_others_run(unsigned times)
{
	while (times--)
		cpu_relax();
}

void stay_awake(void)
{
	if (cpus_online() > 1)
		cpu_relax();
	else
		sleep_until(clock_ns() + NSEC_PER_MSEC / 4);
}

void wait_for_phase(u32 wanted)
{
	while (READ_ONCE(phase) < wanted)
		cpu_relax();
}

void end_beside(void)
{
	mm_switch_current(NULL);
	atomic_inc(&ended);
	thread_exit();
}

struct page *unmap_and_owe_the_flush(u64 addr, bool *dirty)
{
	struct page *page = pfn_to_page(pte_pfn(pte_read(pte_lookup(space->pml4, addr))));
	struct unmap_result unmapped;

	get_page(page);
	lock_page(page);
	try_to_unmap(page, false, &unmapped);
	unlock_page(page);
	tlb_ubc_gather(unmapped.cpus, unmapped.dirty, TLB_RECLAIM);
	*dirty = unmapped.dirty;
	return page;
}

/* ---- Threads and states to build a race from ------------------------------------------------- */

void take_no_interrupts(void *arg)
{
	u64 flags = local_irq_save();

	(void)arg;
	WRITE_ONCE(ended, 1);
	wait_for_phase(1);
	local_irq_restore(flags);
	end_beside();
}

void discard_beside(void *addr)
{
	if (mm_discard(space, (u64)addr, PAGE_SIZE))
		atomic_inc(&wrong);
	end_beside();
}

bool waits_for(unsigned waiter, unsigned deaf)
{
	cpumask_t unacked = READ_ONCE(cpus[waiter].tlb.request.unacked);

	return cpumask_test(unacked, deaf) && !cpumask_test(unacked, smp_cpu_id());
}

/* ---- A pager --------------------------------------------------------------------------------- */

static struct task pager_task;
static struct endpoint *pager;

struct endpoint *silent_pager(bool trusted)
{
	pager_task = (struct task){.name = "silent pager", .pid = 1, .server = trusted};
	list_init(&pager_task.endpoints);
	list_init(&pager_task.received_calls);
	pager = endpoint_create(&pager_task);
	return pager;
}

void silent_pager_ends(void)
{
	ipc_task_exit(&pager_task);
}

/* Only this test's threads call it, and none leaves before it ends. */
const void *page_sent_to_silent_pager(void)
{
	return list_empty(&pager->callers) ?
		       NULL :
		       list_first(&pager->callers, struct ipc_call, node)->send_page;
}

/* ---- Memory that nobody has ------------------------------------------------------------------ */

void take_frames(struct list_head *taken, u64 leave, unsigned min_order)
{
	unsigned order = MAX_ORDER + 1;
	struct page *page;

	list_init(taken);
	while (order-- > min_order)
		while (nr_free_pages() >= leave + (1ul << order) &&
		       (page = alloc_pages(order, GFP_NOWAIT))) {
			page->index = order; /* its owner's to use */
			list_add(&page->lru, taken);
		}
}

void give_frames(struct list_head *taken)
{
	struct page *page;

	while ((page = list_pop(taken, struct page, lru)))
		free_pages(page, (unsigned)page->index);
}

/* ---- Kernel addresses ------------------------------------------------------------------------ */

static const char *const purge_policies[] = {"spinlock", "mutex", "pernode"};

void for_each_policy(void (*fn)(void))
{
	bool chosen = cmdline_has("purge");
	const char *before = purge_policy_name();
	unsigned i;

	for (i = 0; i < (chosen ? 1 : ARRAY_SIZE(purge_policies)); i++) {
		if (!chosen)
			KT_EXPECT(purge_policy_set(purge_policies[i]) == 0);
		vm_unmap_aliases();
		fn();
		vm_unmap_aliases();
		KT_EXPECT(vmap_lazy_nr == 0 && vmap_lazy_listed() == 0,
			  "purge=%s: %ld lazy pages counted, %lu listed", purge_policy_name(),
			  vmap_lazy_nr, vmap_lazy_listed());
	}
	KT_EXPECT(purge_policy_set(before) == 0);
}

void for_each_policy_pinned(void (*fn)(void))
{
	sched_set_affinity(current, CPU_BIT(smp_cpu_id()));
	for_each_policy(fn);
	sched_set_affinity(current, CPUMASK_ALL);
}

struct vmap_area *take_nearly_all(u64 leave)
{
	u64 bytes;
	struct vmap_area *area;

	for (bytes = VMALLOC_END - VMALLOC_BASE - PAGE_SIZE; bytes; bytes -= PAGE_SIZE * 64) {
		spin_lock(&vmap_area_lock);
		area = vmap_tree_find_hole(&vmap_areas, bytes, PAGE_SIZE) ? (void *)1 : NULL;
		spin_unlock(&vmap_area_lock);
		if (area)
			break;
	}
	area = alloc_vmap_area(bytes - leave, PAGE_SIZE);
	if (area)
		area->owns_frames = false;
	return area;
}
