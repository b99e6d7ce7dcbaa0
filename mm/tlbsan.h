/*
 * tlbsan.h - the TLB sanitizer: a shadow of what every CPU's TLB may still hold.
 *
 * Software does not see TLB fills, so the shadow assumes the worst: a translation is on every CPU
 * of the address space's mask from the moment it is visible until a flush that covers it has run on
 * that CPU. While a PTE is there it speaks for itself; what must be remembered are the translations
 * whose PTE was cleared or lost a right. Such a *stale entry* is (address space, address) -> frame,
 * the CPUs that may hold it, whether it lets them write unseen (W and D were set), and who cleared
 * the PTE. Flushes take CPUs out, and at the moments that matter the shadow is asked:
 *
 *   rule 1  a frame is freed: no CPU may translate to it
 *   rule 2  I/O is submitted or a copy starts: no CPU may write the frame unseen
 *   rule 3  a page is mapped writable anew: no CPU may translate the same address, or the same page
 *           of a file at any address, to another frame; except a lazy CPU that has to catch up
 *           with that change's generation before it uses user addresses again
 *   rule 4  munmap, mprotect, madvise, fork return: no CPU has more than the PTE gives
 *   rule 5  a CPU's CR3 is its recorded address space, and its bit is in that mask
 *   rule 6  generations: no CPU is ahead of the address space; flushed <= pending; a CPU that was
 *           skipped as lazy has flushed before it runs user code again; a CPU that catches up by
 *           INVLPG has no older change left
 *   rule 9  D was set when a PTE was cleared: the page is marked dirty
 *   rule 10 kernel addresses (mm/vmalloc.h): none is given out again, and no call that promises to
 *           have flushed them returns, while a CPU may translate it; a CPU that was skipped
 *           because it was outside the kernel does nothing inside before it has flushed
 *   rule 11 kernel (global) entries: only INVLPG or a CR4.PGE toggle takes them out
 *
 * Rules 7 (the batch) and 8 (IPIs) are assertions in tlb_batch.c and tlb.c.
 *
 * So a missing, late or misdirected flush is found whether or not the emulator lets a stale entry
 * show. A stale A bit is no fault. `tlbsan=on` on the command line; off, every hook is one test of
 * a flag that never changes.
 */
#pragma once

#include "kernel/types.h"

struct cpu;
struct mm;
struct page;

#ifdef GATHER_RELEASE /* tlbsan.c and tlbsan_rules.c are left out */
#define tlbsan_on     false
#define tlbsan_init() ((void)0)
#define tlbsan_now()  0ul
#else
extern bool tlbsan_on;

/* Reads tlbsan= and takes the shadow's memory. Boot only, after page_alloc_ready. */
void tlbsan_init(void);
/* The number of the last event. */
u64 tlbsan_now(void);
#endif

#define TLBSAN_HOOK(call)                                                                          \
	do {                                                                                       \
		if (unlikely(tlbsan_on))                                                           \
			call;                                                                      \
	} while (0)

/* ---- What happens to translations. Any context. ---------------------------------------------- */

/* A PTE (its old value) of mm was cleared or restricted, after the fact; mm NULL: the kernel's. */
#define tlbsan_pte_gone(mm, va, old)      TLBSAN_HOOK(__tlbsan_pte_gone(mm, va, old, false))
/*
 * A kernel mapping. Unless its frame is held until the flush, nobody is trusted but the owner, not
 * to use what he has freed: rules 1 and 2 are not asked, rule 10 is.
 */
#define tlbsan_vmap_gone(va, old, held)                                                            \
	TLBSAN_HOOK(__tlbsan_pte_gone(NULL, va, old, !(held)))
/*
 * What was unmapped in the range before tlbsan_now() gave `mark` is queued: others must flush it.
 */
#define tlbsan_vmap_queued(start, end, mark) TLBSAN_HOOK(__tlbsan_vmap_queued(start, end, mark))
/* This CPU is about to drop all its non-global entries. */
#define tlbsan_flushed_user(cpu)          TLBSAN_HOOK(__tlbsan_flushed_user(cpu))
/* This CPU is about to drop everything. */
#define tlbsan_flushed_all(cpu)           TLBSAN_HOOK(__tlbsan_flushed_all(cpu))
/* This CPU executed INVLPG, with mm loaded. */
#define tlbsan_flushed_page(cpu, mm, va)  TLBSAN_HOOK(__tlbsan_flushed_page(cpu, mm, va))
/* With that it claims to have seen all changes up to a generation. */
#define tlbsan_caught_up(cpu, mm, gen)    TLBSAN_HOOK(__tlbsan_caught_up(cpu, mm, gen))
/* A shootdown of mm's addresses (NULL: of what batches gathered) skips a lazy CPU. */
#define tlbsan_skipped(cpu, mm)           TLBSAN_HOOK(__tlbsan_skipped(cpu, mm))

/*
 * One of kernel addresses relies on a CPU outside the kernel. What was cleared up to `mark` counts.
 */
#define tlbsan_skipped_kernel(cpu, mark)  TLBSAN_HOOK(__tlbsan_skipped_kernel(cpu, mark))

/* ---- The moments that matter. ---------------------------------------------------------------- */

#define tlbsan_check_free(page)           TLBSAN_HOOK(__tlbsan_check_free(page))
#define tlbsan_check_copy(page, what)     TLBSAN_HOOK(__tlbsan_check_copy(page, what))
#define tlbsan_check_map(mm, va, page)    TLBSAN_HOOK(__tlbsan_check_map(mm, va, page))
/*
 * What was cleared or restricted there before tlbsan_now() gave `mark` is flushed. What was later is
 * another's doing, and took no right away that the caller's answer speaks of.
 */
#define tlbsan_check_range(mm, start, end, mark) \
	TLBSAN_HOOK(__tlbsan_check_range(mm, start, end, mark))
/* All that was queued up to `mark` is flushed. */
#define tlbsan_check_aliases(mark)        TLBSAN_HOOK(__tlbsan_check_aliases(mark))
#define tlbsan_check_fork(parent)         TLBSAN_HOOK(__tlbsan_check_fork(parent))
#define tlbsan_check_cpu(cpu)             TLBSAN_HOOK(__tlbsan_check_cpu(cpu))
#define tlbsan_check_dirty(page, old)     TLBSAN_HOOK(__tlbsan_check_dirty(page, old))

void __tlbsan_pte_gone(struct mm *mm, u64 va, u64 old, bool trusted);
/* The same for a batch, and the new generation with it: tlb_gen_inc_batched. */
void __tlbsan_pte_gathered(struct mm *mm, u64 va, u64 old);
void __tlbsan_vmap_queued(u64 start, u64 end, u64 mark);
void __tlbsan_check_aliases(u64 mark);
void __tlbsan_flushed_user(struct cpu *cpu);
/* CR3 has been loaded with another since the last flush: clear prev's mask bit and forget prev. */
void __tlbsan_leave_mm(struct cpu *cpu, struct mm *prev);
void __tlbsan_flushed_all(struct cpu *cpu);
void __tlbsan_flushed_page(struct cpu *cpu, struct mm *mm, u64 va);
void __tlbsan_caught_up(struct cpu *cpu, struct mm *mm, u64 gen);
void __tlbsan_skipped(struct cpu *cpu, const struct mm *mm);
void __tlbsan_skipped_kernel(struct cpu *cpu, u64 mark);
void __tlbsan_check_free(struct page *page);
void __tlbsan_check_copy(struct page *page, const char *what);
void __tlbsan_check_map(struct mm *mm, u64 va, struct page *page);
void __tlbsan_check_range(struct mm *mm, u64 start, u64 end, u64 mark);
void __tlbsan_check_fork(struct mm *parent);
void __tlbsan_check_cpu(struct cpu *cpu);
void __tlbsan_check_dirty(struct page *page, u64 old);
