/* machine.c - the hardware of the model, and the kernel around the sources (see machine.h). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arch/paging.h"
#include "arch/trap.h"
#include "drivers/lapic.h"
#include "machine.h"
#include "mm/page_alloc.h"
#include "mm/tlb.h"
#include "model.h"

#define NR_FRAMES 32

struct cpu cpus[NR_CPUS];
cpumask_t cpu_online_mask;
struct mm mms[NR_MMS], init_mm;
u64 ptes[NR_MMS][NR_PAGES], kernel_pte;
struct thread threads[MODEL_CPUS];
static struct page frames[NR_FRAMES];
struct page *mem_map = frames;
u64 max_pfn = NR_FRAMES;
char host_memory[NR_FRAMES * PAGE_SIZE] __aligned(PAGE_SIZE);

static struct {
	u64 cr3, cr4;
	u64 user[NR_PAGES], kernel; /* TLB: the PTE an entry was made from; 0: no entry */
	bool in_user;
	bool quiet; /* uses no kernel addresses that come and go */
} machines[MODEL_CPUS];
static bool gone[NR_MMS][NR_PAGES], frame_free[NR_FRAMES], kernel_gone;
static irq_handler tlb_handler;

static const struct lock_class ptl_class = {"ptl", RANK_PTL, false};

#define CR3(mm) (((mm) + 1UL) << PAGE_SHIFT)
#define INIT_CR3 (100UL << PAGE_SHIFT)

/* ---- At the start ---------------------------------------------------------------------------- */

static void name_cpu(unsigned i)
{
	struct cpu_tlb *tlb = &cpus[i].tlb;

	name_memory(&tlb->lazy, sizeof(tlb->lazy), "cpu%u lazy", i);
	name_memory(&tlb->kernel, sizeof(tlb->kernel), "cpu%u kernel", i);
	name_memory(&tlb->pending, sizeof(tlb->pending), "cpu%u pending", i);
	name_memory(&tlb->request, sizeof(tlb->request), "cpu%u request", i);
	name_memory(&tlb->request.unacked, sizeof(tlb->request.unacked), "cpu%u unacked", i);
}

static void reset_cpu(unsigned i)
{
	struct cpu *cpu = &cpus[i];

	memset(cpu, 0, sizeof(*cpu));
	cpu->self = cpu;
	cpu->id = cpu->apic_id = i;
	cpu->curr = &threads[i];
	cpu->tlb.loaded_mm = &init_mm;
	cpu->tlb.lazy = 1;
	machines[i].cr3 = INIT_CR3;
	machines[i].cr4 = CR4_PGE;
	memset(&threads[i], 0, sizeof(threads[i]));
	strcpy(threads[i].name, "thread");
	name_cpu(i);
}

static void reset_mm(unsigned i)
{
	unsigned page;

	mms[i] = (struct mm){.id = i + 1, .cr3 = CR3(i), .pml4 = ptes[i]};
	spin_init(&mms[i].ptl, &ptl_class);
	for (page = 0; page < NR_PAGES; page++)
		ptes[i][page] = make_pte(FRAME(i, page), PTE_P | PTE_W | PTE_U | PTE_A);
	name_memory(&mms[i].tlb_gen, 8, "mm%u tlb_gen", i);
	name_memory(&mms[i].cpumask, 8, "mm%u cpumask", i);
	name_memory(&mms[i].ptl, 4, "mm%u ptl", i);
	name_memory(&mms[i].tlb_batched_pending, 8, "mm%u batched_pending", i);
	name_memory(&mms[i].tlb_batched_flushed, 8, "mm%u batched_flushed", i);
	name_memory(ptes[i], sizeof(ptes[i]), "mm%u PTEs", i);
}

void machine_reset(void)
{
	unsigned i;

	memset(machines, 0, sizeof(machines));
	memset(gone, 0, sizeof(gone));
	kernel_gone = false;
	memset(frame_free, 0, sizeof(frame_free));
	memset(frames, 0, sizeof(frames));
	init_mm = (struct mm){.cr3 = INIT_CR3};
	for (i = 0; i < MODEL_CPUS; i++)
		reset_cpu(i);
	for (i = 0; i < NR_MMS; i++)
		reset_mm(i);
	kernel_pte = make_pte(30, PTE_P | PTE_W | PTE_G | PTE_A);
	cpu_online_mask = 0;
	for (i = 0; i < MODEL_CPUS; i++)
		if (scenario->script[i])
			cpu_online_mask |= CPU_BIT(i);
	init_mm.cpumask = cpu_online_mask;
	if (!tlb_handler)
		tlb_init();
}

/* ---- The TLB --------------------------------------------------------------------------------- */

/* Nothing old is left, and everything that is there comes in at once. */
static void refill_page(unsigned cpu, unsigned page)
{
	u64 mm = (machines[cpu].cr3 >> PAGE_SHIFT) - 1;

	machines[cpu].user[page] = 0;
	if (mm >= NR_MMS)
		return;
	if (model_running) /* the page walker reads the entry: who writes it shares it */
		(void)memory_use(&ptes[mm][page], sizeof(pte_t), false);
	if (ptes[mm][page] & PTE_P)
		machines[cpu].user[page] = ptes[mm][page];
}

static void refill_user(unsigned cpu)
{
	unsigned page;

	for (page = 0; page < NR_PAGES; page++)
		refill_page(cpu, page);
}

static void refill_kernel(unsigned cpu)
{
	machines[cpu].kernel = kernel_pte & PTE_P ? kernel_pte : 0;
}

u64 read_cr3(void)
{
	return machines[model_cpu()].cr3;
}

void write_cr3(u64 value)
{
	unsigned cpu = model_cpu();

	scheduling_point();
	memory_fence();
	machines[cpu].cr3 = value;
	refill_user(cpu);
	if (!machines[cpu].kernel)
		refill_kernel(cpu);
	if (model_running)
		note("CR3 = %lx, TLB filled anew", value);
}

u64 read_cr4(void)
{
	return machines[model_cpu()].cr4;
}

void write_cr4(u64 value)
{
	scheduling_point();
	memory_fence();
	if ((machines[model_cpu()].cr4 ^ value) & CR4_PGE) {
		refill_user(model_cpu());
		refill_kernel(model_cpu());
	}
	machines[model_cpu()].cr4 = value;
	note("CR4 = %lx", value);
}

void invlpg(u64 va)
{
	scheduling_point();
	memory_fence();
	if (va == KERNEL_VA)
		refill_kernel(model_cpu());
	else if (va >= USER_BASE && va < PAGE_VA(NR_PAGES))
		refill_page(model_cpu(), (unsigned)((va - USER_BASE) >> PAGE_SHIFT));
	note("INVLPG %lx", va);
}

void start_cpu(unsigned cpu, struct mm *mm, enum start how)
{
	init_mm.cpumask &= ~CPU_BIT(cpu);
	mm->cpumask |= CPU_BIT(cpu);
	cpus[cpu].tlb.loaded_mm = mm;
	cpus[cpu].tlb.lazy = how == LAZY;
	machines[cpu].in_user = how == IN_USER;
	machines[cpu].cr3 = mm->cr3;
	refill_user(cpu);
	refill_kernel(cpu);
}

/* ---- Properties ------------------------------------------------------------------------------ */

static void check_cpu(unsigned cpu)
{
	u64 mm = (machines[cpu].cr3 >> PAGE_SHIFT) - 1, pte;
	unsigned page;

	for (page = 0; page < NR_PAGES && machines[cpu].in_user; page++) {
		pte = machines[cpu].user[page];
		if (!pte)
			continue;
		require(!gone[mm][page], "cpu%u in user mode translates page %u of mm%lu, which "
			"was unmapped and flushed", cpu, page, mm);
		require(!frame_free[pte_pfn(pte)], "cpu%u in user mode translates to frame %lu, "
			"which is free", cpu, pte_pfn(pte));
	}
}

static void check_all(void)
{
	unsigned cpu;

	for (cpu = 0; cpu < MODEL_CPUS; cpu++)
		check_cpu(cpu);
}

void assert_gone(unsigned mm, unsigned page)
{
	scheduling_point();
	note("page %lu of mm%lu must be gone", page, mm);
	gone[mm][page] = true;
	check_all();
}

void assert_frame_free(unsigned frame)
{
	note("frame %lu is freed", frame);
	require(!frame_free[frame], "frame %u is freed twice", frame);
	frame_free[frame] = true;
	check_all();
}

static void check_kernel(unsigned cpu)
{
	require(!kernel_gone || !model_cpus[cpu].exists || machines[cpu].quiet || !machines[cpu].kernel,
		"cpu%u translates a kernel address that was freed", cpu);
}

void assert_kernel_gone(void)
{
	unsigned cpu;

	kernel_gone = true;
	for (cpu = 0; cpu < MODEL_CPUS; cpu++)
		check_kernel(cpu);
}

void leave_kernel(void)
{
	scheduling_point();
	machines[model_cpu()].quiet = true;
	note("uses no kernel addresses any more");
	tlb_leave_kernel();
}

void enter_kernel(void)
{
	tlb_enter_kernel();
	scheduling_point();
	machines[model_cpu()].quiet = false;
	note("uses kernel addresses");
	check_kernel(model_cpu());
}

void assert_not_loaded(unsigned mm)
{
	unsigned cpu;

	for (cpu = 0; cpu < MODEL_CPUS; cpu++)
		require(machines[cpu].cr3 != CR3(mm), "cpu%u's CR3 points to freed tables", cpu);
}

void check_counters(void)
{
	u64 icr = 0, targets = 0, taken = 0, coalesced = 0;
	unsigned cpu, reason;

	for (cpu = 0; cpu < MODEL_CPUS; cpu++)
		for (reason = 0; reason < NR_TLB_REASONS; reason++) {
			const struct tlb_counters *stat = &cpus[cpu].stat.tlb[reason];

			icr += stat->icr;
			targets += stat->targets;
			taken += stat->taken;
			coalesced += stat->coalesced;
		}
	require(icr == taken, "%lu ICR writes, %lu interrupts taken", icr, taken);
	require(taken + coalesced == targets, "taken %lu + coalesced %lu != targets %lu", taken,
		coalesced, targets);
}

static bool inside(const void *address, const void *start, size_t size)
{
	return (u64)address - (u64)start < size;
}

void request_written(const void *address, size_t size)
{
	unsigned i;

	(void)size;
	for (i = 0; i < MODEL_CPUS; i++) {
		const struct tlb_request *req = &cpus[i].tlb.request;

		require(!req->unacked || !inside(address, req, sizeof(*req)) ||
				inside(address, &req->unacked, sizeof(req->unacked)),
			"cpu%u's request changes before CPUs %lx have acknowledged it", i,
			req->unacked);
	}
}

/* ---- Interrupts and user mode ---------------------------------------------------------------- */

void local_irq_disable(void)
{
	model_cpus[model_cpu()].irqs_on = false;
}

void local_irq_enable(void)
{
	model_cpus[model_cpu()].irqs_on = true;
}

bool irqs_disabled(void)
{
	return !model_cpus[model_cpu()].irqs_on;
}

void cpu_relax(void)
{
	give_way();
}

void lapic_send_ipi(u32 apic_id, u32 ipi)
{
	(void)ipi;
	scheduling_point();
	note("IPI to cpu%lu", apic_id);
	model_cpus[apic_id].irq_pending = true;
}

void irq_register(u8 vector, irq_handler handler)
{
	(void)vector;
	tlb_handler = handler;
}

void machine_interrupt(void)
{
	struct model_cpu *cpu = &model_cpus[model_cpu()];
	bool quiet;

	memory_fence();
	note("interrupt");
	cpu->irq_pending = false;
	cpu->irqs_on = false;
	cpu->in_interrupt = true;
	quiet = machines[model_cpu()].quiet;
	if (quiet)
		enter_kernel();
	if (scenario->interrupt)
		scenario->interrupt();
	else
		tlb_handler();
	if (quiet)
		leave_kernel();
	memory_fence();
	note("end of interrupt");
	cpu->in_interrupt = false;
	cpu->irqs_on = true;
}

void enter_user(void)
{
	scheduling_point();
	memory_fence();
	note("enters user mode");
	machines[model_cpu()].in_user = true;
	check_cpu(model_cpu());
}

void leave_user(void)
{
	scheduling_point();
	note("leaves user mode");
	machines[model_cpu()].in_user = false;
}

/* ---- The rest of the kernel: kernel.c, and --------------------------------------------------- */

void panic(const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	violation("%s", text);
}

/* One frame for each CPU's batch page. */
struct page *alloc_pages(unsigned order, u32 gfp)
{
	u64 pfn = model_cpu() + 1;

	(void)order;
	(void)gfp;
	mem_map[pfn].refcount = 1;
	memset(phys_to_virt(pfn << PAGE_SHIFT), 0, 64);
	return &mem_map[pfn];
}

void free_pages(struct page *page, unsigned order)
{
	(void)order;
	assert_frame_free((unsigned)page_to_pfn(page));
}

void kpage_free(void *address, unsigned order)
{
	(void)address;
	(void)order;
}

void put_page(struct page *page)
{
	atomic_dec(&page->refcount);
}

pte_t *pte_lookup(u64 *pml4, u64 va)
{
	return &pml4[(va - USER_BASE) >> PAGE_SHIFT];
}
