/*
 * threads.c - the kernel's sources under ThreadSanitizer: CPUs are host threads, interrupts a flag
 * that is looked at where interrupts are on (docs/11-model.md).
 *
 * Each CPU wanders between two address spaces and idling, reads pages through a TLB of its own, in
 * the kernel also a kernel page that comes and goes, unmaps pages, lets batches gather them, and frees
 * frames through an llist. A frame's words are
 * ordinary memory, poisoned when it is freed: a flush that is missing or not ordered is a data race
 * for the sanitizer, and poison for the reader.
 *
 *   threads [ITERATIONS [SEED]]
 */
#include <asm/prctl.h>
#define sched_yield host_sched_yield /* the kernel has one too */
#include <pthread.h>
#undef sched_yield
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/paging.h"
#include "arch/trap.h"
#include "kernel/cpu.h"
#include "kernel/llist.h"
#include "kernel/thread.h"
#include "mm/mm.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "mm/tlb_batch.h"

#define NR_THREADS 4
#define NR_MMS     2
#define NR_PAGES   8
#define NR_FRAMES  64
#define FIRST      (NR_THREADS + 1) /* frames below are batch pages */
#define POISON     0x6b6b6b6b6b6b6b6bUL
#define PAGE_VA(page) (USER_BASE + (page) * PAGE_SIZE)
#define GATHERED   4 /* frames, then a batch is flushed */
#define KERNEL_VA  0xffffc90000000000UL
#define KERNEL_CONTENTS 999UL

struct cpu cpus[NR_CPUS];
cpumask_t cpu_online_mask = CPU_BIT(NR_THREADS) - 1;
struct mm init_mm = {.cr3 = PAGE_SIZE};
static struct mm mms[NR_MMS];
static u64 ptes[NR_MMS][NR_PAGES], kernel_pte;
static u32 kernel_busy; /* somebody replaces the page behind KERNEL_VA */
static struct page frames[NR_FRAMES];
struct page *mem_map = frames;
u64 max_pfn = NR_FRAMES;
char host_memory[NR_FRAMES * PAGE_SIZE] __aligned(PAGE_SIZE);
static struct thread threads[NR_THREADS];
static struct free_frame {
	struct llist_node node;
} free_nodes[NR_FRAMES];
static struct llist_head free_list;
static const struct lock_class ptl_class = {"ptl", RANK_PTL, false};

/* A CPU: written by its own thread, except for the interrupt flag. */
static struct machine {
	u64 cr3;
	u64 tlb[NR_PAGES]; /* the PTE an entry was made from; 0: no entry */
	u64 kernel_tlb;
	bool irqs_on, outside; /* the kernel */
	struct llist_node *frames; /* taken from the free list, to be used */
	u64 random;
	u64 reads, unmaps, flushes;
	u32 irq_pending; /* atomic */
} machines[NR_THREADS] __aligned(64);

static irq_handler handler;
static u32 done; /* threads that only take interrupts any more */
static unsigned long iterations = 30000;

static struct machine *self(void)
{
	return &machines[smp_cpu_id()];
}

static u64 random_below(u64 n)
{
	u64 *s = &self()->random;

	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (*s >> 20) % n;
}

static void __noreturn fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("# cpu%u: ", smp_cpu_id());
	vprintf(fmt, args);
	printf("\nnot ok 1 threads\n1..1\n");
	fflush(stdout);
	_exit(1);
}

/* ---- Instructions ---------------------------------------------------------------------------- */

static void take_interrupts(void)
{
	struct machine *cpu = self();

	if (cpu->irqs_on && __atomic_exchange_n(&cpu->irq_pending, 0, __ATOMIC_SEQ_CST)) {
		cpu->irqs_on = false;
		if (cpu->outside)
			tlb_enter_kernel();
		handler();
		if (cpu->outside)
			tlb_leave_kernel();
		cpu->irqs_on = true;
	}
}

void local_irq_disable(void)
{
	self()->irqs_on = false;
}

void local_irq_enable(void)
{
	self()->irqs_on = true;
	take_interrupts();
}

bool irqs_disabled(void)
{
	return !self()->irqs_on;
}

void cpu_relax(void)
{
	take_interrupts();
	syscall(SYS_sched_yield);
}

void lapic_send_ipi(u32 apic_id, u32 ipi);
void lapic_send_ipi(u32 apic_id, u32 ipi)
{
	(void)ipi;
	__atomic_store_n(&machines[apic_id].irq_pending, 1, __ATOMIC_RELEASE);
}

u64 read_cr3(void)
{
	return self()->cr3;
}

void write_cr3(u64 value)
{
	self()->cr3 = value;
	memset(self()->tlb, 0, sizeof(self()->tlb));
}

u64 read_cr4(void)
{
	return CR4_PGE;
}

void write_cr4(u64 value)
{
	(void)value; /* toggles CR4.PGE */
	memset(self()->tlb, 0, sizeof(self()->tlb));
	self()->kernel_tlb = 0;
}

void invlpg(u64 va)
{
	if (va == KERNEL_VA)
		self()->kernel_tlb = 0;
	else if (va < PAGE_VA(NR_PAGES))
		self()->tlb[(va - USER_BASE) >> PAGE_SHIFT] = 0;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static u64 *words_of(u64 pfn)
{
	return phys_to_virt(pfn << PAGE_SHIFT);
}

static u64 contents(unsigned mm, unsigned page)
{
	return 1000 + mm * NR_PAGES + page;
}

/* Its words are ordinary memory: whoever can still read them races with this. */
static void free_frame(u64 pfn)
{
	if (*words_of(pfn) == POISON)
		fail("frame %lu is freed twice", pfn);
	*words_of(pfn) = POISON;
	llist_add(&free_nodes[pfn].node, &free_list);
}

/* 0: there is none. */
static u64 take_frame(void)
{
	struct machine *cpu = self();
	struct llist_node *node = cpu->frames;
	u64 pfn;

	if (!node)
		node = llist_reverse_order(llist_del_all(&free_list));
	if (!node)
		return 0;
	cpu->frames = node->next;
	pfn = (u64)(llist_entry(node, struct free_frame, node) - free_nodes);
	if (*words_of(pfn) != POISON)
		fail("frame %lu on the free list is in use", pfn);
	return pfn;
}

void free_pages(struct page *page, unsigned order)
{
	(void)order;
	free_frame(page_to_pfn(page));
}

struct page *alloc_pages(unsigned order, u32 gfp)
{
	u64 pfn = smp_cpu_id() + 1;

	(void)order;
	(void)gfp;
	mem_map[pfn].refcount = 1;
	memset(words_of(pfn), 0, PAGE_SIZE);
	return &mem_map[pfn];
}

void kpage_free(void *address, unsigned order)
{
	(void)address;
	(void)order;
}

/* ---- What a CPU does ------------------------------------------------------------------------- */

/* User mode: read pages through the TLB, interrupts coming in between. */
static void read_pages(unsigned mm)
{
	unsigned i, page;
	u64 found;

	for (i = 0; i < 8; i++, take_interrupts()) {
		page = (unsigned)random_below(NR_PAGES);
		if (!self()->tlb[page])
			self()->tlb[page] = load_acquire(&ptes[mm][page]);
		if (!self()->tlb[page])
			continue;
		found = *words_of(pte_pfn(self()->tlb[page]));
		if (found != contents(mm, page))
			fail("page %u of mm%u reads %lx", page, mm, found);
		self()->reads++;
	}
}

static void switch_to(struct mm *next)
{
	local_irq_disable();
	switch_mm_irqoff(next);
	local_irq_enable();
}

static void leave_kernel(void)
{
	local_irq_disable();
	self()->outside = true;
	tlb_leave_kernel();
	local_irq_enable();
}

static void enter_kernel(void)
{
	local_irq_disable();
	tlb_enter_kernel();
	self()->outside = false;
	local_irq_enable();
}

/* In the kernel, interrupts coming in between. */
static void read_kernel_page(void)
{
	unsigned i;
	u64 found;

	for (i = 0; i < 4; i++, take_interrupts()) {
		if (!self()->kernel_tlb)
			self()->kernel_tlb = load_acquire(&kernel_pte);
		if (!self()->kernel_tlb)
			continue;
		found = *words_of(pte_pfn(self()->kernel_tlb));
		if (found != KERNEL_CONTENTS)
			fail("the kernel's page reads %lx", found);
	}
}

static void replace_kernel_page(void)
{
	u64 pfn = take_frame(), old;

	if (!pfn)
		return;
	*words_of(pfn) = KERNEL_CONTENTS;
	if (__atomic_exchange_n(&kernel_busy, 1, __ATOMIC_ACQUIRE)) {
		free_frame(pfn);
		return;
	}
	old = pte_get_and_clear(&kernel_pte);
	flush_tlb_kernel_range(KERNEL_VA, KERNEL_VA + PAGE_SIZE);
	if (old)
		free_frame(pte_pfn(old));
	pte_set(&kernel_pte, make_pte(pfn, PTE_P));
	store_release(&kernel_busy, 0u);
}

static void run_and_idle(void)
{
	unsigned mm = (unsigned)random_below(NR_MMS);

	read_kernel_page();
	switch_to(&mms[mm]);
	leave_kernel();
	read_pages(mm);
	enter_kernel();
	if (!random_below(16))
		switch_to(NULL);
}

static void map_page(unsigned mm, unsigned page)
{
	u64 pfn = take_frame();
	bool free = false;

	if (!pfn)
		return;
	*words_of(pfn) = contents(mm, page);
	spin_lock(&mms[mm].ptl);
	if (pte_read(&ptes[mm][page]))
		free = true;
	else
		pte_set(&ptes[mm][page], make_pte(pfn, PTE_P));
	spin_unlock(&mms[mm].ptl);
	if (free)
		free_frame(pfn);
}

static void unmap_page(unsigned mm, unsigned page)
{
	u64 old;

	spin_lock(&mms[mm].ptl);
	old = pte_get_and_clear(&ptes[mm][page]);
	spin_unlock(&mms[mm].ptl);
	if (old)
		flush_tlb_mm_range(&mms[mm], PAGE_VA(page), PAGE_VA(page + 1), TLB_UNMAP);
	flush_tlb_batched_pending(&mms[mm]);
	if (old)
		free_frame(pte_pfn(old));
	self()->unmaps++;
}

/* As unmap_one in mm/rmap.c. */
static void reclaim_page(unsigned mm, unsigned page)
{
	cpumask_t mask;
	u64 old;

	spin_lock(&mms[mm].ptl);
	old = pte_get_and_clear(&ptes[mm][page]);
	if (old)
		tlb_gen_inc_batched(&mms[mm], 0, 0);
	mask = load_acquire(&mms[mm].cpumask);
	spin_unlock(&mms[mm].ptl);
	if (!old)
		return;
	tlb_ubc_gather(mask, old & PTE_D, TLB_RECLAIM);
	tlb_ubc_add_frame(pfn_to_page(pte_pfn(old)));
	if (current->tlb_ubc->nr_pages >= GATHERED)
		self()->flushes += try_to_unmap_flush() > 0;
}

static void one_step(void)
{
	unsigned mm = (unsigned)random_below(NR_MMS), page = (unsigned)random_below(NR_PAGES);

	switch (random_below(9)) {
	case 0:
		unmap_page(mm, page);
		break;
	case 1:
		reclaim_page(mm, page);
		break;
	case 2:
	case 3:
		map_page(mm, page);
		break;
	case 4:
		replace_kernel_page();
		break;
	default:
		run_and_idle();
	}
	take_interrupts();
}

static void *cpu_main(void *arg)
{
	struct cpu *cpu = arg;
	unsigned long i;

	syscall(SYS_arch_prctl, ARCH_SET_GS, cpu);
	machines[cpu->id].irqs_on = true;
	for (i = 0; i < iterations; i++)
		one_step();
	try_to_unmap_flush();
	tlb_ubc_release(current);
	switch_to(NULL);
	atomic_inc(&done);
	while (load_acquire(&done) < NR_THREADS)
		cpu_relax();
	return NULL;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void prepare(u64 seed)
{
	unsigned i;

	for (i = 0; i < NR_THREADS; i++) {
		cpus[i].self = &cpus[i];
		cpus[i].id = cpus[i].apic_id = i;
		cpus[i].curr = &threads[i];
		cpus[i].tlb.loaded_mm = &init_mm;
		cpus[i].tlb.lazy = 1;
		machines[i].cr3 = init_mm.cr3;
		machines[i].random = (seed + 1) * 0x9e3779b97f4a7c15UL + i;
	}
	init_mm.cpumask = cpu_online_mask;
	for (i = 0; i < NR_MMS; i++) {
		mms[i].id = i + 1;
		mms[i].cr3 = (i + 2) * PAGE_SIZE;
		spin_init(&mms[i].ptl, &ptl_class);
	}
	for (i = FIRST; i < NR_FRAMES; i++)
		free_frame(i);
	tlb_init();
}

static unsigned chain_length(struct llist_node *chain)
{
	struct llist_node *node, *next;
	unsigned n = 0;

	llist_for_each_safe(node, next, chain)
		n++;
	return n;
}

static void check_frames(void)
{
	unsigned i, page, found = chain_length(llist_del_all(&free_list));

	for (i = 0; i < NR_THREADS; i++)
		found += chain_length(machines[i].frames);
	for (i = 0; i < NR_MMS; i++)
		for (page = 0; page < NR_PAGES; page++)
			found += ptes[i][page] != 0;
	found += kernel_pte != 0;
	if (found != NR_FRAMES - FIRST || limbo_pages())
		fail("%u frames of %u are left, %lu in limbo", found, NR_FRAMES - FIRST,
		     limbo_pages());
}

static void check_counters(void)
{
	u64 targets = 0, taken = 0, coalesced = 0, lazy = 0, reads = 0, outside = 0;
	unsigned i, r;

	for (i = 0; i < NR_THREADS; i++) {
		reads += machines[i].reads;
		for (r = 0; r < NR_TLB_REASONS; r++) {
			targets += cpus[i].stat.tlb[r].targets;
			taken += cpus[i].stat.tlb[r].taken;
			coalesced += cpus[i].stat.tlb[r].coalesced;
			lazy += cpus[i].stat.tlb[r].lazy;
		}
		outside += cpus[i].stat.tlb[TLB_VMALLOC].lazy;
	}
	printf("# total: %lu reads, %lu targets = %lu taken + %lu coalesced, %lu lazy, "
	       "%lu outside the kernel\n",
	       reads, targets, taken, coalesced, lazy - outside, outside);
	if (targets != taken + coalesced || !coalesced || lazy == outside || !outside || !reads)
		fail("the counters do not agree, or something did not happen");
}

int main(int argc, char **argv)
{
	pthread_t ids[NR_THREADS];
	unsigned i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		iterations = strtoul(argv[1], NULL, 0);
	syscall(SYS_arch_prctl, ARCH_SET_GS, &cpus[0]);
	prepare(argc > 2 ? strtoul(argv[2], NULL, 0) : 1);
	for (i = 0; i < NR_THREADS; i++)
		if (pthread_create(&ids[i], NULL, cpu_main, &cpus[i]))
			fail("no thread");
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(ids[i], NULL);
	check_frames();
	check_counters();
	printf("ok 1 threads\n1..1\n");
	return 0;
}

/* ---- The rest of the kernel: kernel.c -------------------------------------------------------- */

void irq_register(u8 vector, irq_handler irq)
{
	(void)vector;
	handler = irq;
}

void panic(const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fail("%s", text);
}
