/*
 * trap.h - how the CPU enters and leaves the kernel: exceptions, interrupts, system calls.
 *
 * Every entry builds the same struct trap_frame on the kernel stack and every return is by IRETQ:
 * one path to check instead of two with different rules. Interrupts are off on entry.
 *
 *   user --SYSCALL--> syscall_entry --+--> C handler --> exit_to_user_mode --> IRETQ
 *   user --IRQ/exc.-> isr stubs ------+
 *   kernel --IRQ/exc.-> isr stubs ----> C handler --> preempt_schedule_irq if due --> IRETQ
 *   #DF, NMI, #MC  --> own IST stack, GS decided by its MSR, never reschedule
 */
#pragma once

#include "kernel/types.h"

/* The interrupted context; lowest address first. entry.asm pushes exactly this. */
struct trap_frame {
	u64 r15, r14, r13, r12, r11, r10, r9, r8;
	u64 rdi, rsi, rbp, rbx, rdx, rcx, rax;
	u64 vector, error;
	u64 rip, cs, rflags, rsp, ss;
};

#define PF_PRESENT BIT(0) /* page-fault error code, SDM vol. 3A 4.7 */
#define PF_WRITE   BIT(1)
#define PF_USER    BIT(2)
#define PF_RSVD    BIT(3)
#define PF_FETCH   BIT(4)

static inline bool trap_from_user(const struct trap_frame *tf)
{
	return (tf->cs & 3) == 3;
}

typedef void (*irq_handler)(void);

/* Builds the IDT; once, on CPU 0, before trap_init_cpu. */
void trap_init(void);

/* Loads the IDT and the SYSCALL registers on this CPU. Needs gdt_load before. Interrupts off. */
void trap_init_cpu(void);

/*
 * Sets the handler of an interrupt vector (32..255). It runs with interrupts off, after the EOI, on
 * the interrupted thread's kernel stack, and must not sleep. A vector without one is counted.
 */
void irq_register(u8 vector, irq_handler handler);

/*
 * If the interrupted kernel instruction is in __ex_table, continues at its fixup: true. The table
 * holds pairs of s32, each relative to its own address: the instruction, the fixup (as in Linux).
 */
bool fixup_exception(struct trap_frame *tf);

/*
 * Leaves for user mode with the registers in *tf, which must lie on this thread's kernel stack, by
 * way of exit_to_user_mode. For threads that have never been in user mode. Any interrupt state.
 */
void __noreturn return_to_user(struct trap_frame *tf);

/* One line per four registers, at error level. */
void trap_frame_print(const struct trap_frame *tf);

/* entry.asm: pops the frame at tf and continues there. Interrupts off. */
void __noreturn trap_return(struct trap_frame *tf);

/* ---- Provided by the rest of the kernel ----------------------------------------------------- */

/* Page fault at `address`; interrupts as in the interrupted context. false: not handled. */
bool do_page_fault(struct trap_frame *tf, u64 address);

/* A user thread did what only its death can answer; interrupts as in user mode: on. */
void user_fault(struct trap_frame *tf, const char *what, u64 address);

/* System call tf->rax; interrupts on; the result goes to tf->rax. */
void syscall_dispatch(struct trap_frame *tf);

/* An interrupt of preemptible kernel code found cpu->need_resched. Interrupts off, also after. */
void preempt_schedule_irq(void);

/* Before every return to user mode: reschedules, dies. Interrupts off, also after. */
void exit_to_user_mode(struct trap_frame *tf);
