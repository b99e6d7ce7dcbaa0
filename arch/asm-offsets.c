/*
 * Constants for assembly, compiled to text only: the build turns each string `->NAME value` in the
 * compiler's output into a NASM %define. So assembly never repeats a number that C defines.
 */
#include "arch/cpu.h"
#include "arch/features.h"
#include "arch/gdt.h"
#include "arch/layout.h"
#include "arch/trap.h"
#include "arch/vectors.h"
#include "boot/trampoline.h"
#include "drivers/exit.h"
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
	DEFINE(USER_CS, USER_CS);
	DEFINE(USER_DS, USER_DS);
	DEFINE(KERNEL_BASE, KERNEL_BASE);
	DEFINE(BOOT_STACK_SIZE, BOOT_STACK_SIZE);
	DEFINE(CR0_KERNEL, CR0_KERNEL);
	DEFINE(MSR_EFER, MSR_EFER);
	DEFINE(MSR_GS_BASE, MSR_GS_BASE);

	DEFINE(REQUIRED_LEAF, offsetof(struct required_feature, leaf));
	DEFINE(REQUIRED_BIT, offsetof(struct required_feature, bit));
	DEFINE(REQUIRED_NAME, offsetof(struct required_feature, name));
	DEFINE(REQUIRED_SIZE, sizeof(struct required_feature));
	DEFINE(DEBUG_EXIT_PORT, DEBUG_EXIT_PORT);
	DEFINE(EXIT_PANIC, EXIT_PANIC);

	DEFINE(AP_BOOT_EFER, offsetof(struct ap_boot, efer));
	DEFINE(AP_BOOT_CR3, offsetof(struct ap_boot, cr3));
	DEFINE(AP_BOOT_STACK_TOP, offsetof(struct ap_boot, stack_top));
	DEFINE(AP_BOOT_CPU, offsetof(struct ap_boot, cpu));
}
