/*
 * beside.h - for tests of what several CPUs do in one address space: the test runs pinned to a CPU,
 * threads on chosen other CPUs work beside it, and `phase` and `ended` keep them in step.
 */
#pragma once

#include "kernel/types.h"
#include "mm/mm.h"

struct list_head;
struct vmap_area;

extern struct mm *space; /* made by begin_space */
extern u32 phase;        /* set by the test, looked at by the threads */
extern u32 ended;        /* counted or set by the threads */
extern u32 wrong;        /* counted by the threads: the test expects 0 */

/* Pin the test to its CPU, in a new `space`; the counters start at 0. */
void begin_space(void);
/* Leave the space and end it; no other thread may be in it. */
void end_space(void);

/* A page of zeroes in `space`, writable, not faulted in. */
u64 map_one_page(void);

/* The n-th online CPU other than the test's; its own if there is none. */
unsigned other_cpu(unsigned n);
/* A kernel thread fn(arg) on that CPU, in mm (may be NULL). */
void start_on(unsigned cpu, void (*fn)(void *), u64 arg, struct mm *mm);
void wait_for_phase(u32 wanted); /* spinning: the CPU does not become idle */
void let_others_run(unsigned times);
/*
 * The body of the test's own waiting loops where it must not sleep: its CPU would be lazy and catch
 * up with every change. One CPU alone has to sleep all the same.
 */
void stay_awake(void);
/* The end of such a thread: leaves its address space, adds one to `ended`. */
void end_beside(void);

/*
 * Take a page's PTE away as reclaim does, gathered in the test's batch. The caller owes
 * try_to_unmap_flush and then put_page.
 */
struct page *unmap_and_owe_the_flush(u64 addr, bool *dirty);

/* Thread: sets `ended` to 1 and takes no interrupts until phase 1. */
void take_no_interrupts(void *unused);
/* Thread: madvise(MADV_DONTNEED) of that page of `space`. */
void discard_beside(void *addr);
/* CPU `waiter` waits for an answer of `deaf`, and no longer for one of ours. */
bool waits_for(unsigned waiter, unsigned deaf);

/*
 * A pager that never answers, as trusted as a server if the test says so: what it is asked waits
 * until it ends.
 */
struct endpoint *silent_pager(bool trusted);
void silent_pager_ends(void);
/* The page that is being sent to it; NULL: none. */
const void *page_sent_to_silent_pager(void);

/*
 * Takes free memory away until `leave` frames are left or no block of 2^min_order is, the largest
 * blocks first. Whoever sleeps for memory meanwhile is out of luck: give it back soon.
 */
void take_frames(struct list_head *taken, u64 leave, unsigned min_order);
void give_frames(struct list_head *taken);

/*
 * fn under each purge policy that keeps its promises, or under that of `purge=` alone. Everything
 * is purged before and after, and then nothing may be counted.
 */
void for_each_policy(void (*fn)(void));
/* The same, with the test pinned to its CPU. */
void for_each_policy_pinned(void (*fn)(void));
/* Nearly all kernel addresses but `leave` bytes, in one area that nothing is mapped in. */
struct vmap_area *take_nearly_all(u64 leave);
