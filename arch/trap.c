#include "arch/trap.h"

#include "arch/cpu.h"
#include "arch/gdt.h"
#include "arch/layout.h"
#include "arch/vectors.h"
#include "drivers/lapic.h"
#include "kernel/cpu.h"
#include "kernel/log.h"
#include "mm/tlb.h"

STATIC_ASSERT(sizeof(struct trap_frame) == 22 * 8, "entry.asm pushes 22 words");

#define ISR_STUB_SIZE  16
#define GATE_INTERRUPT 0x8e /* present, ring 0: a user's INT n is a #GP; clears IF */

struct idt_gate {
	u16 offset_low, selector;
	u8 ist, type;
	u16 offset_mid;
	u32 offset_high, reserved;
};

struct exception_entry { /* each value is relative to its own address */
	s32 insn, fixup;
};

/* entry.asm */
extern char isr_stubs[], syscall_entry[];
/* linker.ld */
extern const struct exception_entry __start___ex_table[], __stop___ex_table[];

/* Called by entry.asm. */
void trap_dispatch(struct trap_frame *tf);
void trap_dispatch_ist(struct trap_frame *tf);
void syscall_entry_c(struct trap_frame *tf);

static struct idt_gate idt[NR_VECTORS] __aligned(16);
static irq_handler irq_handlers[NR_VECTORS];

/* clang-format off */
static const char *const exception_names[] = {
	"#DE divide error",   "#DB debug exception",      "NMI",
	"#BP breakpoint",     "#OF overflow",             "#BR bound range exceeded",
	"#UD invalid opcode", "#NM device not available", "#DF double fault",
	"reserved 9",         "#TS invalid TSS",          "#NP segment not present",
	"#SS stack fault",    "#GP general protection",   "#PF page fault",
	"reserved 15",        "#MF x87 error",            "#AC alignment check",
	"#MC machine check",  "#XM SIMD error",           "#VE virtualization exception",
	"#CP control protection",
};
/* clang-format on */

/* ---- Set-up ---------------------------------------------------------------------------------- */

void trap_init(void)
{
	for (unsigned vector = 0; vector < NR_VECTORS; vector++) {
		u64 stub = (u64)isr_stubs + vector * ISR_STUB_SIZE;

		idt[vector] = (struct idt_gate){
			.offset_low = (u16)stub,
			.selector = KERNEL_CS,
			.type = GATE_INTERRUPT,
			.offset_mid = (u16)(stub >> 16),
			.offset_high = (u32)(stub >> 32),
		};
	}
	idt[VEC_DOUBLE_FAULT].ist = IST_DOUBLE_FAULT;
	idt[VEC_NMI].ist = IST_NMI;
	idt[VEC_MACHINE_CHECK].ist = IST_MACHINE_CHECK;
}

void trap_init_cpu(void)
{
	struct {
		u16 limit;
		u64 base;
	} __packed idtr = {sizeof(idt) - 1, (u64)idt};

	__asm__ volatile("lidt %0" ::"m"(idtr) : "memory");
	wrmsr(MSR_STAR, (u64)KERNEL_CS << 32); /* SYSRET's half stays 0: never used */
	wrmsr(MSR_LSTAR, (u64)syscall_entry);
	/* NT too: IRETQ faults when it is set. */
	wrmsr(MSR_SFMASK, RFLAGS_IF | RFLAGS_TF | RFLAGS_DF | RFLAGS_IOPL | RFLAGS_NT | RFLAGS_AC);
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SCE);
}

void irq_register(u8 vector, irq_handler handler)
{
	ASSERT(vector >= NR_EXCEPTIONS, "vector %u is an exception", vector);
	ASSERT(!irq_handlers[vector], "vector %u has a handler already", vector);
	irq_handlers[vector] = handler;
}

/* ---- Leaving --------------------------------------------------------------------------------- */

/*
 * Interrupts off. SYSCALL and exec guarantee a user rip; were it not, IRETQ would fault in ring 0.
 */
static void prepare_exit_to_user(struct trap_frame *tf)
{
	exit_to_user_mode(tf);
	if (unlikely(tf->rip >= USER_END)) {
		local_irq_enable();
		user_fault(tf, "jump out of user space", tf->rip);
		local_irq_disable();
		exit_to_user_mode(tf);
	}
	ASSERT(irqs_disabled(), "returning to user rip %lx", tf->rip);
	tlb_leave_kernel();
}

void __noreturn return_to_user(struct trap_frame *tf)
{
	local_irq_disable();
	prepare_exit_to_user(tf);
	trap_return(tf);
}

/* ---- Interrupts ------------------------------------------------------------------------------ */

static void handle_irq(struct trap_frame *tf)
{
	irq_handler handler = irq_handlers[tf->vector];

	if (tf->vector != VEC_SPURIOUS) /* SDM vol. 3A 10.9: no EOI for that one */
		lapic_eoi();
	if (handler)
		handler();
	else
		this_cpu_add64(stat.spurious_irqs, 1);
	ASSERT(irqs_disabled(), "handler of vector %lu enabled interrupts", tf->vector);
}

/* ---- Exceptions ------------------------------------------------------------------------------ */

bool fixup_exception(struct trap_frame *tf)
{
	for (const struct exception_entry *e = __start___ex_table; e < __stop___ex_table; e++) {
		if ((u64)&e->insn + e->insn == tf->rip) {
			tf->rip = (u64)&e->fixup + e->fixup;
			return true;
		}
	}
	return false;
}

static const char *exception_name(u64 vector)
{
	return vector < ARRAY_SIZE(exception_names) ? exception_names[vector] : "reserved exception";
}

static void __noreturn panic_page_fault(const struct trap_frame *tf, u64 address)
{
	const char *access = tf->error & PF_FETCH ? "execution" :
			     tf->error & PF_WRITE ? "write" : "read";
	const char *why = tf->error & PF_RSVD	 ? "reserved bits in the page table" :
			  tf->error & PF_PRESENT ? "not permitted" : "not mapped";

	panic_at(tf, "page fault in the kernel: %s of %lx: %s (error %lx)", access, address, why,
		 tf->error);
}

static void handle_page_fault(struct trap_frame *tf)
{
	u64 address = read_cr2(); /* before interrupts can overwrite it */

	if (tf->error & PF_RSVD)
		panic_page_fault(tf, address);
	if (tf->rflags & RFLAGS_IF)
		local_irq_enable();
	if (do_page_fault(tf, address))
		return;
	if (trap_from_user(tf))
		user_fault(tf, exception_name(tf->vector), address);
	else if (!fixup_exception(tf))
		panic_page_fault(tf, address);
}

static void handle_exception(struct trap_frame *tf)
{
	if (tf->vector == VEC_PAGE_FAULT) {
		handle_page_fault(tf);
	} else if (trap_from_user(tf)) {
		local_irq_enable();
		user_fault(tf, exception_name(tf->vector), tf->rip);
	} else if (tf->vector != VEC_GP || !fixup_exception(tf)) {
		panic_at(tf, "%s in the kernel (error %lx)", exception_name(tf->vector), tf->error);
	}
	local_irq_disable();
}

/* ---- Entry points ---------------------------------------------------------------------------- */

void trap_dispatch(struct trap_frame *tf)
{
	bool irq = tf->vector >= NR_EXCEPTIONS;

	tlb_enter_kernel();
	if (irq)
		handle_irq(tf);
	else
		handle_exception(tf);
	if (trap_from_user(tf))
		prepare_exit_to_user(tf);
	else if (irq && (tf->rflags & RFLAGS_IF) && this_cpu_read(preempt_count) == 0 &&
		 this_cpu_read(need_resched))
		preempt_schedule_irq();
}

/* None of them returns, and before that they use nothing that a purge takes away. */
void trap_dispatch_ist(struct trap_frame *tf)
{
	if (tf->vector == VEC_NMI && panic_in_progress())
		cpu_halt_forever();
	if (tf->vector == VEC_DOUBLE_FAULT)
		panic_at(tf, "double fault, most likely a kernel stack overflow (rsp %lx, cr2 %lx)",
			 tf->rsp, read_cr2());
	/* An NMI from outside is how a user asks a hung machine where it is. */
	panic_at(tf, "%s", exception_name(tf->vector));
}

void syscall_entry_c(struct trap_frame *tf)
{
	tlb_enter_kernel();
	local_irq_enable();
	syscall_dispatch(tf);
	local_irq_disable();
	prepare_exit_to_user(tf);
}

void trap_frame_print(const struct trap_frame *tf)
{
	static const char *const names[] = { "r15", "r14", "r13", "r12", "r11", "r10", "r9", "r8",
					     "rdi", "rsi", "rbp", "rbx", "rdx", "rcx", "rax" };
	const u64 *registers = (const u64 *)tf;

	kprintf("rip %016lx rsp %016lx rflags %08lx cs %lx ss %lx vector %lu error %lx\n", tf->rip,
		tf->rsp, tf->rflags, tf->cs, tf->ss, tf->vector, tf->error);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		kprintf("%-3s %016lx%s", names[i], registers[i], i % 4 == 3 ? "\n" : " ");
	kprintf("\ncr2 %016lx cr3 %016lx cr4 %08lx\n", read_cr2(), read_cr3(), read_cr4());
}
