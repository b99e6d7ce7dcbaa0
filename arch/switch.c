/* switch.c - new stacks and segment bases (see switch.h). */
#include "arch/switch.h"
#include "arch/cpu.h"
#include "kernel/thread.h"

void thread_start_asm(void);

u64 arch_new_stack(u64 stack_top, void (*fn)(void *), void *arg)
{
	u64 *sp = (u64 *)stack_top;

	*--sp = 0; /* keeps the stack 16-byte aligned at the call, as the ABI wants */
	*--sp = (u64)thread_start_asm;
	*--sp = 0;       /* rbp */
	*--sp = (u64)fn; /* rbx */
	*--sp = (u64)arg; /* r12 */
	*--sp = 0;       /* r13 */
	*--sp = 0;       /* r14 */
	*--sp = 0;       /* r15 */
	return (u64)sp;
}

void arch_load_segments(const struct thread *next)
{
	if (!next->task)
		return;
	wrmsr(MSR_FS_BASE, next->fs_base);
	wrmsr(MSR_KERNEL_GS_BASE, next->gs_base); /* user mode's GS base while the kernel runs */
}
