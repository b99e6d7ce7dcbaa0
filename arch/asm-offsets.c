/*
 * Constants for assembly, compiled to text only: the build turns each string `->NAME value` in the
 * compiler's output into a NASM %define. So assembly never repeats a number that C defines.
 */
#include "arch/cpu.h"
#include "arch/gdt.h"
#include "arch/layout.h"
#include "arch/trap.h"
#include "arch/vectors.h"
#include "boot/bootinfo.h"
#include "boot/trampoline.h"
#include "kernel/cpu.h"

#define DEFINE(name, value) __asm__ volatile(".ascii \"->" #name " %c0\"" ::"i"(value))

void asm_offsets(void);

void asm_offsets(void)
{
	DEFINE(CPU_KSTACK_TOP, offsetof(struct cpu, kstack_top));
	DEFINE(CPU_USER_RSP, offsetof(struct cpu, user_rsp));

	DEFINE(TF_RIP, offsetof(struct trap_frame, rip));
	DEFINE(TF_CS, offsetof(struct trap_frame, cs));
	DEFINE(VEC_SYSCALL, VEC_SYSCALL);
	DEFINE(NR_VECTORS, NR_VECTORS);

	DEFINE(KERNEL_CS, KERNEL_CS);
	DEFINE(KERNEL_DS, KERNEL_DS);
	DEFINE(USER_CS, USER_CS);
	DEFINE(USER_DS, USER_DS);
	DEFINE(KERNEL_BASE, KERNEL_BASE);
	DEFINE(BOOT_STACK_SIZE, BOOT_STACK_SIZE);
	DEFINE(MSR_EFER, MSR_EFER);
	DEFINE(MSR_GS_BASE, MSR_GS_BASE);

	DEFINE(TRAMPOLINE_BOOT_CR3, offsetof(struct trampoline_args, boot_cr3));
	DEFINE(TRAMPOLINE_EFER, offsetof(struct trampoline_args, efer));
	DEFINE(TRAMPOLINE_KERNEL_CR3, offsetof(struct trampoline_args, kernel_cr3));
	DEFINE(TRAMPOLINE_STACK_TOP, offsetof(struct trampoline_args, stack_top));
	DEFINE(TRAMPOLINE_CPU, offsetof(struct trampoline_args, cpu));
	DEFINE(TRAMPOLINE_ENTRY, offsetof(struct trampoline_args, entry));
	DEFINE(TRAMPOLINE_ARGS_SIZE, sizeof(struct trampoline_args));
}
