/*
 * cpu.h - everything the kernel keeps per CPU, grouped by who may touch it.
 */
#pragma once

#include "arch/gdt.h"
#include "arch/percpu.h"
#include "kernel/cpumask.h"
#include "kernel/list.h"
#include "kernel/lock.h"
#include "kernel/vmstat.h"
#include "user/abi.h"
#include "mm/tlb_request.h"

#define NR_PRIORITIES  32
#define MAX_HELD_LOCKS 8

struct thread;
struct mm;

/* Runnable threads of one CPU: a FIFO per priority and a bitmap of the non-empty ones. */
struct runqueue {
	spinlock_t lock;
	u32 ready; /* bitmap of priorities */
	u32 nr_ready;
	struct list_head queue[NR_PRIORITIES];
};

struct cpu {
	/* Constant after bring-up. The first fields' offsets are known to assembly. */
	struct cpu *self;
	struct thread *curr; /* changed by the scheduler on its own CPU only */
	u64 kstack_top;         /* of the current thread: SYSCALL and interrupts from user mode */
	u64 user_rsp;           /* scratch of the SYSCALL entry */
	u32 preempt_count;      /* own CPU only: 0 = may be preempted */
	u32 need_resched;       /* set by anyone, cleared by the scheduler */
	u32 id, apic_id, node;
	struct gdt gdt;
	struct tss tss;
	struct thread *idle;
	u64 idle_stack_top;

	/* Own CPU only. */
	spinlock_t *held[MAX_HELD_LOCKS];
	u32 nr_held;
	u64 slice_end_ns; /* when equals of the current thread get their turn; 0 = no equals */
	u64 timer_armed_ns; /* what the one-shot timer is set to; 0 = nothing */
	u64 timer_due_ns;   /* when it should ring: not before it was set */
	u64 idle_since_ns;
	bool sends_away; /* the thread that is being switched from goes to another CPU */
	struct thread *fpu_owner; /* whose registers the FPU holds */

	struct runqueue rq;

	spinlock_t timer_lock;
	struct list_head sleepers; /* by deadline; under timer_lock */

	struct cpu_tlb tlb;

	/* Counters: own CPU writes, anyone reads. */
	struct info_cpu stat;
	u64 vm_events[NR_VM_EVENTS];
};

extern struct cpu cpus[NR_CPUS];
extern cpumask_t cpu_online_mask; /* CPUs that can take an IPI; bits are only ever set */
extern u32 nr_cpus_present;       /* named by the MADT */

/*
 * Make this CPU a target of IPIs. Context: on that CPU, IDT and LAPIC ready, so that an interrupt
 * sent from the next instruction on is taken (OSv #102 is what happens otherwise).
 */
void cpu_online(struct cpu *cpu);
unsigned cpus_online(void);

static inline unsigned smp_cpu_id(void)
{
	return this_cpu_read(id);
}

#define for_each_online_cpu(cpu) for_each_cpu(cpu, READ_ONCE(cpu_online_mask))
