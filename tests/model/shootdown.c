/* shootdown.c - scenarios for mm/tlb.c: unmapping against switching, lazy CPUs and each other. */
#include "arch/cpu.h"
#include "arch/paging.h"
#include "machine.h"
#include "mm/tlb.h"
#include "model.h"

/* What munmap does: clear, flush; then nobody has it, and the frame is free for anybody. */
static void unmap(unsigned mm, unsigned page)
{
	spin_lock(&mms[mm].ptl);
	(void)pte_get_and_clear(&ptes[mm][page]);
	spin_unlock(&mms[mm].ptl);
	flush_tlb_mm_range(&mms[mm], PAGE_VA(page), PAGE_VA(page + 1), TLB_UNMAP);
	assert_gone(mm, page);
	assert_frame_free(FRAME(mm, page));
}

static void switch_to(struct mm *next)
{
	local_irq_disable();
	switch_mm_irqoff(next);
	local_irq_enable();
}

static void run_user(unsigned mm)
{
	switch_to(&mms[mm]);
	enter_user();
}

static void stop_user(void)
{
	leave_user();
	switch_to(NULL);
}

static void unmap_first(void)
{
	unmap(0, 0);
}

static void unmap_second(void)
{
	unmap(0, 1);
}

static void unmap_both(void)
{
	unmap(0, 0);
	unmap(0, 1);
}

static void unmap_in_other(void)
{
	unmap(1, 0);
}

/* ---- A CPU comes in -------------------------------------------------------------------------- */

static void no_setup(void)
{
}

static void come_and_go(void)
{
	run_user(0);
	stop_user();
}

static void start_lazy(void)
{
	start_cpu(1, &mms[0], LAZY);
}

static void lazy_returns(void)
{
	run_user(0);
	stop_user();
	run_user(0);
}

/* ---- Generations ----------------------------------------------------------------------------- */

static void start_in_user(void)
{
	start_cpu(1, &mms[0], IN_USER);
}

static void stay_in_user(void)
{
}

static void out_and_in(void)
{
	stop_user();
	run_user(0);
}

/* ---- Mutual shootdown ------------------------------------------------------------------------ */

static void start_both(void)
{
	start_cpu(0, &mms[0], IN_KERNEL);
	start_cpu(1, &mms[0], IN_KERNEL);
}

static void unmap_first_then_user(void)
{
	unmap(0, 0);
	enter_user();
}

static void unmap_second_then_user(void)
{
	unmap(0, 1);
	enter_user();
}

static void start_all(void)
{
	start_both();
	start_cpu(2, &mms[0], IN_USER);
}

/* ---- From one address space to the other ----------------------------------------------------- */

static void change_over(void)
{
	leave_user();
	run_user(1);
	leave_user();
	run_user(0);
}

/* ---- The end of an address space ------------------------------------------------------------- */

static void drop(void)
{
	tlb_drop_mm(&mms[0]);
	assert_not_loaded(0);
}

static void leave_for_other(void)
{
	switch_to(&mms[1]);
	switch_to(NULL);
}

static void start_two_lazy(void)
{
	start_cpu(1, &mms[0], LAZY);
	start_cpu(2, &mms[0], LAZY);
}

/* ---- Kernel addresses ------------------------------------------------------------------------ */

static void start_kernel(void)
{
	start_cpu(0, &mms[0], IN_KERNEL);
	start_cpu(1, &mms[0], IN_USER);
	start_cpu(2, &mms[1], LAZY);
}

static void vunmap(void)
{
	(void)pte_get_and_clear(&kernel_pte);
	flush_tlb_kernel_range(KERNEL_VA, KERNEL_VA + PAGE_SIZE);
	assert_kernel_gone();
}

/* Into user mode and back, twice: entries and exits take no interrupts. */
static void out_of_the_kernel_and_back(void)
{
	unsigned times;

	for (times = 0; times < 2; times++) {
		local_irq_disable();
		leave_kernel();
		local_irq_enable();
		local_irq_disable();
		enter_kernel();
		local_irq_enable();
	}
}

static void start_all_inside(void)
{
	start_cpu(0, &mms[0], IN_KERNEL);
	start_cpu(1, &mms[0], IN_KERNEL);
	start_cpu(2, &mms[1], IN_KERNEL);
}

static void vunmap_other(void)
{
	flush_tlb_kernel_range(KERNEL_VA, KERNEL_VA + PAGE_SIZE);
}

const struct scenario shootdown_scenarios[] = {
	{"switch_in", "a CPU enters an address space while another unmaps", 5, no_setup,
	 {unmap_first, come_and_go}, NULL, check_counters},
	{"lazy_return", "a lazy CPU comes back, goes and comes back", 5, start_lazy,
	 {unmap_first, lazy_returns}, NULL, check_counters},
	{"generations", "two changes, and a CPU that is lazy in between", 4, start_in_user,
	 {unmap_both, out_and_in}, NULL, check_counters},
	{"two_initiators", "two CPUs flush a third", 2, start_in_user,
	 {unmap_first, stay_in_user, unmap_second}, NULL, check_counters},
	{"two_and_lazy", "two CPUs flush a third, which is lazy in between", 2, start_in_user,
	 {unmap_first, out_and_in, unmap_second}, NULL, check_counters},
	{"mutual", "two CPUs flush each other", 3, start_both,
	 {unmap_first_then_user, unmap_second_then_user}, NULL, check_counters},
	{"mutual_and_third", "two CPUs flush each other and a third", 2, start_all,
	 {unmap_first_then_user, unmap_second_then_user, stay_in_user}, NULL, check_counters},
	{"change_over", "from one address space to another and back, both being unmapped", 2,
	 start_in_user, {unmap_first, change_over, unmap_in_other}, NULL, check_counters},
	{"drop", "the end of an address space that lazy CPUs have loaded", 2, start_two_lazy,
	 {drop, leave_for_other, stay_in_user}, NULL, check_counters},
	{"kernel_range", "a kernel page goes", 2, start_kernel,
	 {vunmap, stop_user, stay_in_user}, NULL, check_counters},
	{"kernel_quiet", "a kernel page goes while a CPU leaves the kernel and comes back", 4,
	 start_all_inside, {vunmap, out_of_the_kernel_and_back}, NULL, check_counters},
	{"kernel_quiet_two", "the same with two CPUs that flush", 2, start_all_inside,
	 {vunmap, out_of_the_kernel_and_back, vunmap_other}, NULL, check_counters},
	{0},
};
