#include "arch/gdt.h"

#include "arch/cpu.h"
#include "kernel/cpu.h"
#include "kernel/log.h"
#include "mm/page_alloc.h"

STATIC_ASSERT(sizeof(struct tss) >= 104, "SDM vol. 3A 7.7: a 64-bit TSS has 104 bytes");
STATIC_ASSERT(offsetof(struct tss, ist) == 36, "SDM vol. 3A figure 7-11");

#define TSS_LIMIT       103
#define DESC_CODE64     0x00af9b000000ffffUL /* present, ring 0, 64-bit code, accessed */
#define DESC_DATA       0x00cf93000000ffffUL
#define DESC_DPL3       (3UL << 45)
#define DESC_TSS_ACTIVE (0x89UL << 40)

static char boot_ist_stacks[NR_IST][IST_STACK_SIZE] __aligned(16);

void ist_stacks_init(struct cpu *cpu)
{
	for (unsigned i = 0; i < NR_IST; i++) {
		char *stack = cpu->id == 0 ? boot_ist_stacks[i] : kpage_alloc(IST_STACK_ORDER);

		if (!stack)
			panic("no memory for the emergency stacks of cpu%u", cpu->id);
		cpu->tss.ist[i] = (u64)stack + IST_STACK_SIZE; /* ist[0] is IST 1 */
	}
}

static void fill_gdt(struct cpu *cpu)
{
	u64 tss = (u64)&cpu->tss;
	u64 *e = cpu->gdt.entries;

	e[0] = 0;
	e[KERNEL_CS / 8] = DESC_CODE64;
	e[KERNEL_DS / 8] = DESC_DATA;
	e[USER_DS / 8] = DESC_DATA | DESC_DPL3;
	e[USER_CS / 8] = DESC_CODE64 | DESC_DPL3;
	e[TSS_SELECTOR / 8] = TSS_LIMIT | (tss & 0xffffff) << 16 | DESC_TSS_ACTIVE |
			      (tss >> 24 & 0xff) << 56;
	e[TSS_SELECTOR / 8 + 1] = tss >> 32;
	cpu->tss.iomap_base = sizeof(struct tss); /* past the limit: no port is open to ring 3 */
}

/* Replaces all segment registers; CS by a far return. Loading FS and GS clears their bases. */
static void load_segments(const struct gdt *gdt)
{
	struct {
		u16 limit;
		u64 base;
	} __packed gdtr = {sizeof(gdt->entries) - 1, (u64)gdt->entries};

	__asm__ volatile("lgdt %0\n\t"
			 "pushq %1\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "lretq\n"
			 "1:\n\t"
			 "movl %2, %%ss\n\t"
			 "movl %3, %%ds\n\t"
			 "movl %3, %%es\n\t"
			 "movl %3, %%fs\n\t"
			 "movl %3, %%gs" ::"m"(gdtr),
			 "i"(KERNEL_CS), "r"(KERNEL_DS), "r"(0)
			 : "rax", "memory");
}

void gdt_load(struct cpu *cpu)
{
	ASSERT(irqs_disabled(), "cpu%u", cpu->id);
	fill_gdt(cpu);
	load_segments(&cpu->gdt);
	__asm__ volatile("ltr %w0" ::"r"(TSS_SELECTOR) : "memory");
	cpu->self = cpu;
	wrmsr(MSR_GS_BASE, (u64)cpu);
	wrmsr(MSR_KERNEL_GS_BASE, 0); /* the user's, until the first exit */
}

void arch_set_kernel_stack(u64 top)
{
	struct cpu *cpu = this_cpu();

	ASSERT(irqs_disabled() && IS_ALIGNED(top, 16), "stack top %lx on cpu%u", top, cpu->id);
	cpu->kstack_top = top;
	cpu->tss.rsp0 = top;
}
