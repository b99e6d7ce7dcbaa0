/*
 * tlb_request.h - the per-CPU half of a shootdown: what an initiator publishes, what a target
 * keeps. The protocol is explained in mm/tlb.h.
 */
#pragma once

#include "user/abi.h"
#include "kernel/cpumask.h"
#include "kernel/types.h"

struct mm;

enum tlb_request_kind {
	TLB_FLUSH_ALL_USER, /* everything but global entries, whatever is loaded: batches */
	TLB_FLUSH_MM,       /* a range of one address space, by generation */
	TLB_FLUSH_KERNEL,   /* a range of kernel addresses, global entries included */
	TLB_FREE_TABLES,    /* the same as a full range; who is lazy there leaves: tables are to be freed */
	TLB_DROP_MM,        /* leave this address space: its page tables are about to be freed */
};

/* Written by the initiator before the first IPI, immutable until `unacked` is empty again. */
struct tlb_request {
	enum tlb_request_kind kind;
	enum tlb_reason reason;
	u32 from, seq; /* the initiator, and the number of its request: for the trace */
	struct mm *mm;
	u64 start, end; /* page aligned; end - start over the ceiling means everything */
	u64 new_gen;    /* TLB_FLUSH_MM: the generation this request brings a CPU to */
	cpumask_t unacked;
};

/* Whether a CPU may use kernel addresses that come and go (vmalloc's); see mm/tlb.h. */
enum tlb_kernel {
	TLB_KERNEL_USED,  /* it runs kernel code */
	TLB_KERNEL_QUIET, /* user mode or HLT: it uses none but its stack before it has looked here */
	TLB_KERNEL_OWES,  /* the same, and somebody relies on it: it flushes before the next */
};

struct cpu_tlb {
	/* Own CPU, interrupts off. */
	struct mm *loaded_mm; /* what CR3 points at; never NULL once threads run */
	u64 local_gen;        /* loaded_mm's generation that this TLB has caught up with */
	u32 lazy;             /* a thread without an address space runs on a borrowed CR3; others read */

	/* Own CPU as initiator, preemption off from the first write to the last acknowledgement. */
	struct tlb_request request;

	/* enum tlb_kernel. Set by the own CPU, interrupts off; QUIET to OWES by initiators. */
	u32 kernel;

	/*
	 * Bit i: CPU i has published a request for this CPU. Set by initiators, taken whole here.
	 */
	cpumask_t pending;
};
