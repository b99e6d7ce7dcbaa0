/*
 * tlbprobe.c - what this machine's TLB does with translations that were changed behind its back.
 *
 * Each experiment gets one address and two frames, A and B, leaves a translation to A in the TLB,
 * changes the page table without the flush that it should have, and looks which frame answers. The
 * page tables are put right, and the entry flushed, before anybody else can use the address. Rules:
 * Intel SDM vol. 3, 4.10; answers of machines: docs/12-x86-tlb.md. `run tlbprobe` prints them all.
 */
#include "arch/cpu.h"
#include "arch/paging.h"
#include "arch/uaccess.h"
#include "kernel/errno.h"
#include "kernel/syscall.h"
#include "kernel/thread.h"
#include "mm/mm.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "mm/vmalloc.h"

#define MARK_A 0xaaaa
#define MARK_B 0xbbbb
#define MARK_W 0x1234 /* what experiments write */

/* Not PTE_U: under SMAP Bochs walks the tables for every access of the kernel to a user page. */
#define PAGE_PTE (PTE_P | PTE_A | PTE_NX)

struct probe {
	u64 va;
	pte_t *pte;
	u32 *a, *b; /* the frames by their direct map addresses */
	u64 pfn_a, pfn_b;
	bool kernel; /* va is a kernel address */
};

/* ---- Steps ----------------------------------------------------------------------------------- */

static void set_quietly(struct probe *p, u64 pfn, u64 bits)
{
	pte_set(p->pte, make_pte(pfn, bits));
}

static void set_and_flush(struct probe *p, u64 pfn, u64 bits)
{
	set_quietly(p, pfn, bits);
	local_flush_tlb_page(p->va);
}

static enum probe_answer look(struct probe *p)
{
	u32 value;

	if (p->kernel)
		value = READ_ONCE(*(u32 *)p->va);
	else if (get_user(&value, p->va))
		return PROBE_FAULT;
	return value == MARK_A ? PROBE_OLD : PROBE_NEW;
}

/* Which frame a store reaches. */
static enum probe_answer store(struct probe *p)
{
	if (put_user_u32(p->va, MARK_W))
		return PROBE_FAULT;
	return *p->a == MARK_W ? PROBE_OLD : PROBE_NEW;
}

static void store_and_forget(struct probe *p)
{
	(void)store(p);
	*p->a = MARK_A;
}

/* ---- Experiments ----------------------------------------------------------------------------- */

static enum probe_answer read_remapped(struct probe *p)
{
	set_and_flush(p, p->pfn_a, PAGE_PTE);
	(void)look(p);
	set_quietly(p, p->pfn_b, PAGE_PTE);
	return look(p);
}

static enum probe_answer read_unmapped(struct probe *p)
{
	set_and_flush(p, p->pfn_a, PAGE_PTE);
	(void)look(p);
	set_quietly(p, 0, 0);
	return look(p);
}

static enum probe_answer write_unmapped_clean(struct probe *p)
{
	set_and_flush(p, p->pfn_a, PAGE_PTE | PTE_W);
	(void)look(p);
	set_quietly(p, 0, 0);
	return store(p);
}

static enum probe_answer write_unmapped_dirty(struct probe *p)
{
	set_and_flush(p, p->pfn_a, PAGE_PTE | PTE_W);
	store_and_forget(p);
	set_quietly(p, 0, 0);
	return store(p);
}

static enum probe_answer write_remapped_clean(struct probe *p)
{
	set_and_flush(p, p->pfn_a, PAGE_PTE | PTE_W);
	(void)look(p);
	set_quietly(p, p->pfn_b, PAGE_PTE | PTE_W);
	return store(p);
}

static enum probe_answer write_protected_dirty(struct probe *p)
{
	set_and_flush(p, p->pfn_a, PAGE_PTE | PTE_W);
	store_and_forget(p);
	set_quietly(p, p->pfn_a, PAGE_PTE | PTE_D);
	return store(p);
}

static enum probe_answer write_unprotected(struct probe *p)
{
	set_and_flush(p, p->pfn_a, PAGE_PTE);
	(void)look(p);
	set_quietly(p, p->pfn_a, PAGE_PTE | PTE_W);
	return store(p) == PROBE_FAULT ? PROBE_FAULT : PROBE_NEW;
}

static enum probe_answer read_made_present(struct probe *p)
{
	set_and_flush(p, 0, 0);
	(void)look(p);
	set_quietly(p, p->pfn_b, PAGE_PTE);
	return look(p);
}

/* NEW: the access set A again; OLD: it did not look at the page table. */
static enum probe_answer accessed_cleared(struct probe *p)
{
	set_and_flush(p, p->pfn_a, PAGE_PTE);
	(void)look(p);
	set_quietly(p, p->pfn_a, PAGE_PTE & ~PTE_A);
	(void)look(p);
	return pte_read(p->pte) & PTE_A ? PROBE_NEW : PROBE_OLD;
}

static enum probe_answer remap_and(struct probe *p, void (*flush)(u64 arg), u64 arg, u64 bits)
{
	set_and_flush(p, p->pfn_a, bits);
	(void)look(p);
	set_quietly(p, p->pfn_b, bits);
	flush(arg);
	return look(p);
}

static void reload_cr3(u64 unused)
{
	(void)unused;
	local_flush_tlb_user();
}

static void toggle_pge(u64 unused)
{
	(void)unused;
	local_flush_tlb_all();
}

static enum probe_answer invlpg_frame(struct probe *p)
{
	return remap_and(p, local_flush_tlb_page, p->pfn_a << PAGE_SHIFT, PAGE_PTE);
}

static enum probe_answer invlpg_address(struct probe *p)
{
	return remap_and(p, local_flush_tlb_page, p->va, PAGE_PTE);
}

static enum probe_answer cr3_reload(struct probe *p)
{
	return remap_and(p, reload_cr3, 0, PAGE_PTE);
}

#define KERNEL_PTE (PTE_P | PTE_W | PTE_A | PTE_D | PTE_G | PTE_NX)

static enum probe_answer global_cr3_reload(struct probe *p)
{
	return remap_and(p, reload_cr3, 0, KERNEL_PTE);
}

static enum probe_answer global_invlpg(struct probe *p)
{
	return remap_and(p, local_flush_tlb_page, p->va, KERNEL_PTE);
}

static enum probe_answer global_pge_toggle(struct probe *p)
{
	return remap_and(p, toggle_pge, 0, KERNEL_PTE);
}

static const struct {
	enum probe_answer (*run)(struct probe *p);
	bool kernel;
} experiments[] = {
#define X(name, kernel, text, hardware, qemu, bochs) {name, kernel},
	TLB_PROBES(X)
#undef X
};

/* ---- Around them ----------------------------------------------------------------------------- */

/* On one CPU, which nobody else can use meanwhile. */
static s64 run_with(struct probe *p, u64 experiment)
{
	u64 flags = local_irq_save();
	pte_t saved = pte_get_and_clear(p->pte); /* no D is set in it from here on */
	enum probe_answer answer;

	*p->a = MARK_A;
	*p->b = MARK_B;
	answer = experiments[experiment].run(p);
	set_and_flush(p, 0, 0);
	pte_set(p->pte, saved);
	local_irq_restore(flags);
	return answer;
}

static s64 probe_kernel(struct probe *p, u64 experiment)
{
	void *area = vmalloc(PAGE_SIZE);
	s64 answer;

	if (!area)
		return -ENOMEM;
	p->va = (u64)area;
	p->pte = pte_lookup(kernel_pml4, p->va);
	p->kernel = true;
	answer = run_with(p, experiment);
	vfree(area);
	return answer;
}

/*
 * The caller's page at `addr` lends its place. Under the ptl nobody unmaps it meanwhile; under
 * mmap_lock other threads' faults wait until it is back. What their CPUs saw of the frames is
 * flushed.
 */
static s64 probe_user(struct probe *p, u64 experiment, u64 addr)
{
	struct mm *mm = current->mm;
	s64 answer = -EAGAIN;

	p->va = ALIGN_DOWN(addr, PAGE_SIZE);
	if (addr >= USER_END || put_user_u32(p->va, 0))
		return -EFAULT;
	mutex_guard(&mm->mmap_lock);
	spin_lock(&mm->ptl);
	p->pte = pte_lookup(mm->pml4, p->va);
	if (p->pte && (pte_read(p->pte) & PTE_P)) /* not reclaimed since */
		answer = run_with(p, experiment);
	spin_unlock(&mm->ptl);
	flush_tlb_mm_range(mm, p->va, p->va + PAGE_SIZE, TLB_UNMAP);
	return answer;
}

s64 sys_tlbprobe(u64 experiment, u64 addr)
{
	struct probe p = {.a = kpage_alloc(0), .b = kpage_alloc(0)};
	s64 answer = -ENOMEM;

	if (p.a && p.b) {
		p.pfn_a = virt_to_phys(p.a) >> PAGE_SHIFT;
		p.pfn_b = virt_to_phys(p.b) >> PAGE_SHIFT;
		if (experiment >= ARRAY_SIZE(experiments))
			answer = -EINVAL;
		else if (experiments[experiment].kernel)
			answer = probe_kernel(&p, experiment);
		else
			answer = probe_user(&p, experiment, addr);
	}
	if (p.a)
		kpage_free(p.a, 0);
	if (p.b)
		kpage_free(p.b, 0);
	return answer;
}
