/*
 * tlb.h - which CPU may hold which address space's translations, and how they are made to forget.
 *
 * Shootdown, on a time line (initiator I, targets T1 and T2):
 *
 *   I:  clear PTE   gen++   publish request   ICR T1  ICR T2   flush self   wait ..... go on
 *   T1:                                       |---> IRQ: take pending, flush, ack --->|
 *   T2:                                               |---> IRQ: take, flush, ack --->|
 *
 * A request lives in the initiator's struct cpu and does not change until its last acknowledgement.
 * Every target has one word of pending initiators: the initiator that makes it non-zero writes the
 * ICR, later ones are coalesced into the same interrupt. The handler takes the word whole, so
 * interrupts taken + requests coalesced = targets, exactly.
 *
 * Address spaces: a CPU's bit is set in mm->cpumask before it loads that CR3 and cleared after it
 * loaded another. mm->tlb_gen counts changes that need a flush; a CPU remembers the generation it
 * has caught up with. A CPU that runs a thread without an address space keeps the last CR3 lazily:
 * shootdowns skip it (it cannot touch user addresses) unless page tables are about to be freed,
 * which its hardware may walk at any time; and it compares generations before it runs user code of
 * that address space again. Barriers: the initiator bumps the generation (a locked instruction) and
 * then reads `lazy`; the CPU clears `lazy`, fences, and then reads the generation.
 *
 * Kernel addresses have no generations and are everybody's. But a CPU in user mode or halted in its
 * idle loop uses none of those that come and go, and so need not be disturbed: it is marked to owe
 * a flush, and pays on its way in, before anything else. Between the interrupt or SYSCALL and that
 * place the CPU uses its descriptor tables, its struct cpu and the kernel's image, which stay where
 * they are, and its thread's stack: vmalloc's, but mapped since before this CPU was last in the
 * kernel, when it owed nothing. The same on the way out, from the mark to IRET.
 *
 *   CPU:        last use  kernel=QUIET  user mode ..  xchg(kernel, USED): was OWES?  flush  use ..
 *   initiator:  clear PTEs  cmpxchg(kernel, QUIET or OWES -> OWES): done without an interrupt,
 *                           or it is USED: interrupt, and wait for the answer
 *
 * Both exchanges are locked: either the CPU sees OWES, or the initiator sees USED, and whatever the
 * CPU uses after its exchange it translates by the PTEs as they are now.
 *
 * Sources: Intel SDM vol. 3, 4.10.4 and 4.10.5; Linux arch/x86/mm/tlb.c for the generations; for
 * the flush on the way in, Valentin Schneider's series "context_tracking,x86: Defer some IPIs until
 * a user->kernel transition" (2023), which had to find all that early entry code touches there.
 */
#pragma once

#include "user/abi.h"
#include "kernel/cpumask.h"
#include "kernel/types.h"
#include "mm/mm.h"
#include "mm/tlb_request.h"

struct cpu;

/* INVLPG one by one up to here, a full flush above. (Linux: tlb_single_page_flush_ceiling, 33.) */
#define TLB_FLUSH_CEILING 33

/* The IPI's vector handler. Boot only. */
void tlb_init(void);
/* This CPU starts with the kernel's own CR3. Context: interrupts off, before the first thread. */
void tlb_init_cpu(struct cpu *cpu);

/* Make next's address space current; NULL: stay on the old one lazily. Context: interrupts off. */
void switch_mm_irqoff(struct mm *next);

/*
 * The first thing after an entry into the kernel, and the last before user mode or HLT. In between
 * the CPU may use vmalloc's addresses. Entering twice is fine. Context: interrupts off.
 */
void tlb_enter_kernel(void);
void tlb_leave_kernel(void);

/* A PTE of mm was changed in a way that needs a flush: the new generation. A full barrier. */
u64 tlb_gen_inc(struct mm *mm);
/*
 * The same for a flush that a batch owes: see flush_tlb_batched_pending. old: what the PTE of va
 * was. Context: ptl held since before the PTE was cleared.
 */
void tlb_gen_inc_batched(struct mm *mm, u64 va, u64 old);

/*
 * All of these return when every CPU concerned has flushed, or will before it uses what it has: the
 * lazy, and those outside the kernel. Context: interrupts and preemption on,
 * no spinlock held (lock.h, rule 3).
 */
/* Addresses [start, end) of one address space, after its PTEs were changed. */
void flush_tlb_mm_range(struct mm *mm, u64 start, u64 end, enum tlb_reason reason);
/*
 * Everything but global entries on these CPUs; generations were bumped when the PTEs were cleared.
 */
void flush_tlb_cpus(cpumask_t cpus, enum tlb_reason reason);
/*
 * Kernel addresses, global entries included, on all CPUs: those outside the kernel before they
 * enter.
 */
void flush_tlb_kernel_range(u64 start, u64 end);
/* If a batch somewhere still owes this address space a flush, do it now (Linux 3ea277194dae). */
void flush_tlb_batched_pending(struct mm *mm);
/*
 * Some of its page tables, out of reach already, are about to be freed. Not even a lazy CPU is
 * skipped: it may walk them ahead of need, and set A bits in what they have become by then. It
 * leaves the address space. (Linux: freed_tables in flush_tlb_func.)
 */
void flush_tlb_freed_tables(struct mm *mm);
/* Make every lazy CPU leave this address space. Afterwards its page tables may be freed. */
void tlb_drop_mm(struct mm *mm);
