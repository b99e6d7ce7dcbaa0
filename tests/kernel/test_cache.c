/*
 * test_cache.c - pages of files without a pager: the test puts them into the cache itself. What
 * reclaim and the first writer owe to those who still read them. The faults caught here are in
 * tests/exhibits.
 */
#include "arch/layout.h"
#include "arch/paging.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/ipc.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "mm/lru.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/reclaim.h"
#include "mm/tlb_batch.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define NR_PAGES 40

static struct vm_object *object;

/* A new clean page of the object; the caller has a reference. */
static struct page *add_page(u64 index)
{
	struct page *page = alloc_pages(0, GFP_KERNEL | GFP_ZERO);

	page_set(page, PG_uptodate);
	KT_EXPECT(page_cache_add(object, index, page) == 0);
	return page;
}

static u64 map_object(u32 rights)
{
	return (u64)mm_map(space, 0, NR_PAGES * PAGE_SIZE, rights | VMA_SHARED, object, 0, NULL,
			   MAP_NEAR);
}

static void begin_file(void)
{
	begin_space();
	object = object_create(OBJECT_PAGED, NULL, 0, NR_PAGES * PAGE_SIZE);
}

static void end_file(void)
{
	end_space();
	object_put(object);
}

/*
 * Clean pages of files may wait for their flush as long as nobody writes the file: the page may
 * come back in another frame meanwhile. So the first mapping that may write must see to all such
 * flushes.
 */
KTEST(a_file_becomes_writable_after_the_flushes_it_is_owed)
{
	struct page *old, *new;
	u64 reading, writing;
	u32 value;
	bool dirty;

	begin_file();
	old = add_page(0);
	reading = map_object(VMA_READ);
	KT_EXPECT(get_user(&value, reading) == 0);
	KT_EXPECT(unmap_and_owe_the_flush(reading, &dirty) == old);
	lock_page(old);
	KT_EXPECT(page_cache_remove(old, 3), "%u references", page_refs(old));
	unlock_page(old);
	new = add_page(0);
	writing = map_object(VMA_READ | VMA_WRITE | VMA_MAYWRITE);
	KT_EXPECT(put_user_u32(writing, 7) == 0);
	KT_EXPECT(get_user(&value, reading) == 0 && value == 7, "the old frame is still read");
	try_to_unmap_flush();
	put_page(old); /* unmap_and_owe_the_flush's */
	put_page(old);
	put_page(new);
	end_file();
}

static void make_writable_beside(void *unused)
{
	(void)unused;
	object_make_writable(object);
	end_beside();
}

/* The first one has said so, and has not flushed yet: the second must not go on without. */
KTEST(every_writer_waits_for_the_flush_that_makes_a_file_writable)
{
	struct page *old, *new;
	u64 reading, writing;
	u32 value;
	bool dirty;

	if (cpus_online() < 2)
		return;
	begin_file();
	old = add_page(0);
	reading = map_object(VMA_READ);
	KT_EXPECT(get_user(&value, reading) == 0);
	KT_EXPECT(unmap_and_owe_the_flush(reading, &dirty) == old);
	lock_page(old);
	KT_EXPECT(page_cache_remove(old, 3), "%u references", page_refs(old));
	unlock_page(old);
	new = add_page(0);
	pause_at(SYNC_made_writable, other_cpu(0));
	start_on(other_cpu(0), make_writable_beside, 0, NULL);
	while (!paused_at(SYNC_made_writable))
		stay_awake();
	writing = map_object(VMA_READ | VMA_WRITE | VMA_MAYWRITE);
	KT_EXPECT(put_user_u32(writing, 7) == 0);
	KT_EXPECT(get_user(&value, reading) == 0 && value == 7, "the old frame is still read");
	release(SYNC_made_writable);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	try_to_unmap_flush();
	put_page(old);
	put_page(old);
	put_page(new);
	end_file();
}

static void read_before_and_after(void *addr)
{
	u32 value;

	KT_EXPECT(get_user(&value, (u64)addr) == 0 && value == 0, "it was to be in this TLB");
	WRITE_ONCE(ended, 1);
	wait_for_phase(1);
	if (get_user(&value, (u64)addr) || value != 7)
		atomic_inc(&wrong);
	end_beside();
}

/* As with .data before its first store: another thread must not read the old frame afterwards. */
KTEST(a_private_copy_waits_for_the_flush_that_a_batch_owes)
{
	struct page *page;
	bool dirty;
	u64 at;

	if (cpus_online() < 2)
		return;
	begin_file();
	page = add_page(0);
	at = (u64)mm_map(space, 0, PAGE_SIZE, VMA_READ | VMA_WRITE | VMA_MAYWRITE, object, 0, NULL,
			 false);
	start_on(other_cpu(0), read_before_and_after, at, space);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	KT_EXPECT(unmap_and_owe_the_flush(at, &dirty) == page);
	KT_EXPECT(put_user_u32(at, 7) == 0);
	WRITE_ONCE(phase, 1);
	KT_WAIT_FOR(READ_ONCE(ended) == 2);
	KT_EXPECT(wrong == 0, "another thread reads the old frame after the store");
	try_to_unmap_flush();
	put_page(page);
	put_page(page);
	end_file();
}

static struct thread *storer;

static void store_without_memory(void *addr)
{
	storer = current;
	if (put_user_u32((u64)addr, 7) == 0)
		atomic_inc(&wrong);
	end_beside();
}

/* Copy-on-write that finds no memory puts the old page back, unless a truncation came between. */
KTEST(a_copy_that_fails_does_not_bring_a_truncated_page_back)
{
	struct list_head taken;
	pte_t *pte;
	u32 value;
	u64 at;

	if (cpus_online() < 2)
		return;
	begin_file();
	put_page(add_page(0));
	at = (u64)mm_map(space, 0, PAGE_SIZE, VMA_READ | VMA_WRITE | VMA_MAYWRITE, object, 0, NULL,
			 false);
	KT_EXPECT(get_user(&value, at) == 0);
	pause_at(SYNC_cow_flushed, other_cpu(0));
	start_on(other_cpu(0), store_without_memory, at, space);
	KT_WAIT_FOR(paused_at(SYNC_cow_flushed));
	WRITE_ONCE(storer->killed, 1); /* it shall not wait for memory */
	object_resize(object, 0);
	current->flags |= PF_MEMALLOC; /* to the last frame */
	take_frames(&taken, 0, 0);
	release(SYNC_cow_flushed);
	while (!READ_ONCE(ended))
		stay_awake();
	current->flags &= ~PF_MEMALLOC;
	give_frames(&taken);
	pte = pte_lookup(space->pml4, at);
	KT_EXPECT(pte && !pte_read(pte), "the page is mapped again: %lx", pte ? pte_read(pte) : 0);
	KT_EXPECT(wrong == 0);
	end_file();
}

KTEST(a_written_page_of_a_file_is_dirty_when_it_is_unmapped)
{
	struct page *page;
	bool dirty;
	u64 at;

	begin_file();
	page = add_page(0);
	at = map_object(VMA_READ | VMA_WRITE | VMA_MAYWRITE);
	KT_EXPECT(put_user_u32(at, 7) == 0);
	KT_EXPECT(unmap_and_owe_the_flush(at, &dirty) == page);
	KT_EXPECT(dirty && page_test(page, PG_dirty), "the store is lost with the frame");
	try_to_unmap_flush();
	put_page(page);
	put_page(page);
	end_file();
}

/* All its pages in the cache and mapped, looked at or written. */
static void map_all_pages(u32 rights)
{
	u64 at = map_object(rights), i;
	u32 value;

	for (i = 0; i < NR_PAGES; i++) {
		struct page *page = add_page(i);

		if (rights & VMA_WRITE)
			KT_EXPECT(put_user_u32(at + i * PAGE_SIZE, 7) == 0);
		else
			KT_EXPECT(get_user(&value, at + i * PAGE_SIZE) == 0);
		lru_add_page(page);
		put_page(page);
	}
}

static void reclaim_them(void)
{
	struct list_head taken;

	take_frames(&taken, 0, 0); /* so that the reclaimers find work */
	(void)try_to_free_pages(0);
	sleep_until(clock_ns() + 20 * NSEC_PER_MSEC); /* kswapd too has given up */
	KT_EXPECT(lru_nr(LRU_INACTIVE_FILE) + lru_nr(LRU_ACTIVE_FILE) == 0, "pages are left");
	KT_EXPECT(tlb_ubc_empty(current), "and goes on to something else");
	KT_EXPECT(limbo_pages() == 0, "%lu pages", limbo_pages());
	try_to_unmap_flush();
	give_frames(&taken);
}

/* Fewer pages than a batch takes, so that nothing but the end of reclaim flushes it. */
KTEST(reclaim_leaves_nothing_in_limbo)
{
	begin_file();
	map_all_pages(VMA_READ);
	reclaim_them();
	end_file();
}

/* A pager that has ended: page-outs start, and fail at once. */
static struct endpoint *dead_pager(void)
{
	static struct task task;
	struct endpoint *endpoint;

	list_init(&task.endpoints);
	list_init(&task.received_calls);
	endpoint = endpoint_create(&task);
	ipc_task_exit(&task);
	return endpoint;
}

KTEST(written_pages_are_flushed_before_they_go_out)
{
	begin_file();
	object->pager = dead_pager();
	map_all_pages(VMA_READ | VMA_WRITE | VMA_MAYWRITE);
	reclaim_them();
	end_file();
}
