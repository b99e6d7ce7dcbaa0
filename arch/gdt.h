/*
 * gdt.h - segments, the task-state segment and its emergency stacks: one set per CPU.
 *
 * Long mode keeps segmentation only for privilege levels, GS as the per-CPU pointer, and the TSS,
 * which names the stack for entries from ring 3 (rsp0) and the stacks of events that must not trust
 * the current one (IST): double fault, NMI and machine check (Intel SDM vol. 3A 6.14.5, 7.7).
 */
#pragma once

#include "kernel/types.h"

#define KERNEL_CS    0x08
#define KERNEL_DS    0x10
#define USER_DS      0x1b
#define USER_CS      0x23
#define TSS_SELECTOR 0x28

#define IST_DOUBLE_FAULT  1
#define IST_NMI           2
#define IST_MACHINE_CHECK 3
#define NR_IST            3
#define IST_STACK_ORDER   1 /* pages per stack, as a power of two */
#define IST_STACK_SIZE    (PAGE_SIZE << IST_STACK_ORDER)

struct gdt {
	u64 entries[7]; /* null, kernel CS, kernel DS, user DS, user CS, TSS (two entries) */
} __aligned(16);

struct tss {
	u32 reserved0;
	u64 rsp0;
	u64 rsp1;
	u64 rsp2;
	u64 reserved1;
	u64 ist[7];
	u64 reserved2;
	u16 reserved3;
	u16 iomap_base;
} __packed __aligned(16);

struct cpu;

/*
 * Gives the CPU its emergency stacks: static ones for CPU 0, kpage_alloc for the others (so the
 * frame allocator must work by then), or panics. Runs on any CPU, once per CPU.
 */
void ist_stacks_init(struct cpu *cpu);

/*
 * Fills cpu->gdt and cpu->tss and loads them on the running CPU, which must be `cpu`; points GS at
 * it and sets cpu->self. Interrupts off. From here on this_cpu() works.
 */
void gdt_load(struct cpu *cpu);

/*
 * Sets the stack that entries from ring 3 start on, by interrupt (tss.rsp0) and by SYSCALL
 * (cpu->kstack_top) alike. This CPU only, interrupts off; top is 16-byte aligned.
 */
void arch_set_kernel_stack(u64 top);
