/* switch.c - new stacks and segment bases (see switch.h). */
#include "arch/switch.h"
#include "arch/cpu.h"
#include "kernel/lib.h"
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

void arch_read_selectors(struct selectors *s)
{
	__asm__ volatile("movw %%ds, %0\n\t"
			 "movw %%es, %1\n\t"
			 "movw %%fs, %2\n\t"
			 "movw %%gs, %3"
			 : "=m"(s->ds), "=m"(s->es), "=m"(s->fs), "=m"(s->gs));
}

/* GS's base is the kernel's here: it is exchanged for user mode's while the selector is loaded. */
static void load_selectors(const struct selectors *s)
{
	__asm__ volatile("movw %0, %%ds\n\t"
			 "movw %1, %%es\n\t"
			 "movw %2, %%fs\n\t"
			 "swapgs\n\t"
			 "movw %w3, %%gs\n\t"
			 "swapgs" ::"m"(s->ds), "m"(s->es), "m"(s->fs), "r"(s->gs)
			 : "memory");
}

/* A selector that is not null brings its base with it, a null one leaves it to us (as in Linux). */
void arch_load_segments(const struct thread *next)
{
	struct selectors now;

	if (!next->task)
		return;
	arch_read_selectors(&now);
	if (memcmp(&now, &next->selectors, sizeof(now)))
		load_selectors(&next->selectors);
	if (next->selectors.fs <= 3)
		wrmsr(MSR_FS_BASE, next->fs_base);
	if (next->selectors.gs <= 3)
		wrmsr(MSR_KERNEL_GS_BASE, next->gs_base); /* user mode's while the kernel runs */
}

void arch_set_fs_base(struct thread *self, u64 base)
{
	u64 flags = local_irq_save();

	__asm__ volatile("movw %w0, %%fs" ::"r"(0) : "memory");
	wrmsr(MSR_FS_BASE, base);
	self->fs_base = base;
	local_irq_restore(flags);
}

void arch_reset_segments(struct thread *self)
{
	u64 flags = local_irq_save();

	self->selectors = (struct selectors){0};
	self->fs_base = self->gs_base = 0;
	arch_load_segments(self);
	local_irq_restore(flags);
}
