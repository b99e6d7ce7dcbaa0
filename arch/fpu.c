/*
 * fpu.c - saving and restoring extended state (see fpu.h).
 * Source: Intel SDM vol. 1, 13.4 (XSAVE area) and 10.5.1 (FXSAVE area).
 */
#include "arch/fpu.h"
#include "arch/cpu.h"
#include "kernel/lib.h"
#include "kernel/thread.h"
#include "mm/page_alloc.h"

#define FCW_OFFSET    0
#define MXCSR_OFFSET  24
#define FCW_INITIAL   0x37f
#define MXCSR_INITIAL 0x1f80

static bool have_xsave(void)
{
	return read_cr4() & CR4_OSXSAVE;
}

static void save(void *area)
{
	if (have_xsave())
		__asm__ volatile("xsave64 (%0)" ::"r"(area), "a"(~0u), "d"(~0u) : "memory");
	else
		__asm__ volatile("fxsave64 (%0)" ::"r"(area) : "memory");
}

static void restore(const void *area)
{
	if (have_xsave())
		__asm__ volatile("xrstor64 (%0)" ::"r"(area), "a"(~0u), "d"(~0u) : "memory");
	else
		__asm__ volatile("fxrstor64 (%0)" ::"r"(area) : "memory");
}

static void set_initial(void *area)
{
	memset(area, 0, PAGE_SIZE);
	*(u16 *)((u8 *)area + FCW_OFFSET) = FCW_INITIAL;
	*(u32 *)((u8 *)area + MXCSR_OFFSET) = MXCSR_INITIAL;
	if (have_xsave())
		((u64 *)area)[64] = 3; /* XSTATE_BV: x87 and SSE present in the image */
}

void *fpu_alloc(void)
{
	void *area = kpage_alloc(0);

	if (area)
		set_initial(area);
	return area;
}

void fpu_free(void *area)
{
	if (area)
		kpage_free(area, 0);
}

/*
 * State is saved when its owner is switched away from, so the area is always current for a thread
 * that does not run, and the thread may go on on any CPU. fpu_owner spares the restore when the
 * owner comes back before anyone else used the registers here.
 */
void fpu_switch(struct cpu *cpu, struct thread *prev, struct thread *next)
{
	if (prev->fpu && cpu->fpu_owner == prev) {
		save(prev->fpu);
		prev->fpu_cpu = cpu->id;
	}
	if (!next->fpu || (cpu->fpu_owner == next && next->fpu_cpu == cpu->id))
		return;
	restore(next->fpu);
	cpu->fpu_owner = next;
	next->fpu_cpu = cpu->id;
}

void fpu_copy_current(void *area)
{
	u64 flags = local_irq_save();

	save(current->fpu);
	memcpy(area, current->fpu, PAGE_SIZE);
	local_irq_restore(flags);
}

void fpu_reset_current(void)
{
	u64 flags = local_irq_save();
	struct thread *self = current;

	ASSERT(self->fpu, "%s has no FPU state to reset", self->name);
	set_initial(self->fpu);
	restore(self->fpu);
	this_cpu()->fpu_owner = self;
	self->fpu_cpu = this_cpu()->id;
	local_irq_restore(flags);
}

void fpu_drop_current(void)
{
	u64 flags = local_irq_save();

	if (this_cpu()->fpu_owner == current)
		this_cpu()->fpu_owner = NULL;
	local_irq_restore(flags);
}
