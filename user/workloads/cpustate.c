/*
 * cpustate.c - a program that loads what it likes into the CPU's registers: segments, flags, stack
 * pointer, FPU control, and bases by system calls. It ends itself, or nobody: the kernel must not
 * use, keep or pass on any of it. Runs on Linux too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user/lib/check.h"

#define PROGRAM     "cpustate"
#define ARCH_SET_FS 0x1002
#define NOT_CANONICAL 0x800000000000UL
#define KERNEL_STACK  0xffffc00000010000UL
#define EFLAGS_TF   0x100UL
#define EFLAGS_DF   0x400UL
#define EFLAGS_IOPL 0x3000UL
#define EFLAGS_NT   0x4000UL
#define EFLAGS_AC   0x40000UL

/* ---- What ends the program ------------------------------------------------------------------- */

/* To ring 0's code segment: selector 0x08 here, 0x10 on Linux. */
static void iret_to(unsigned long cs)
{
	__asm__ volatile("mov %%ss, %%ecx\n\t"
			 "mov %%rsp, %%rdx\n\t"
			 "push %%rcx\n\t"
			 "push %%rdx\n\t"
			 "pushfq\n\t"
			 "push %0\n\t"
			 "lea 1f(%%rip), %%rcx\n\t"
			 "push %%rcx\n\t"
			 "iretq\n"
			 "1:" ::"r"(cs)
			 : "rcx", "rdx", "memory");
}

static void iret_to_8(void)
{
	iret_to(0x08);
}

static void iret_to_16(void)
{
	iret_to(0x10);
}

static void far_return(void)
{
	__asm__ volatile("push $0x10\n\t"
			 "lea 1f(%%rip), %%rcx\n\t"
			 "push %%rcx\n\t"
			 "lretq\n"
			 "1:" ::: "rcx", "memory");
}

static void jump_to(unsigned long address)
{
	__asm__ volatile("jmp *%0" ::"r"(address));
}

static void jump_out(void)
{
	jump_to(NOT_CANONICAL);
}

static void jump_to_kernel(void)
{
	jump_to(0xffffffff80200000UL);
}

static void jump_to_last_page(void)
{
	jump_to(0x7ffffffff000UL);
}

#define FATAL(name, instruction)                                                                   \
	static void name(void)                                                                     \
	{                                                                                          \
		__asm__ volatile(instruction ::"a"(0), "c"(0xc0000080), "d"(0) : "memory");         \
	}
FATAL(do_cli, "cli")
FATAL(do_hlt, "hlt")
FATAL(do_out, "outb %%al, %%dx")
FATAL(do_wrmsr, "wrmsr")
FATAL(do_mov_cr3, "mov %%rax, %%cr3")
FATAL(do_mov_dr7, "mov %%rax, %%dr7")
FATAL(do_invlpg, "invlpg (%%rax)")
FATAL(do_int_tlb, "int $0xf1")
FATAL(do_int_2, "int $2")
FATAL(do_load_ldt, "mov $7, %%eax; mov %%eax, %%ds")
FATAL(do_load_tss, "mov $0x43, %%eax; mov %%eax, %%es")
FATAL(do_load_kernel_ds, "mov $0x10, %%eax; mov %%eax, %%ss")
FATAL(do_load_gs_of_nowhere, "mov $0xfff8, %%eax; mov %%eax, %%gs")
FATAL(do_single_step, "pushfq; orq $0x100, (%%rsp); popfq; nop; nop")
FATAL(do_mxcsr, "movl $-1, -64(%%rsp); ldmxcsr -64(%%rsp)")

/* The stack pointer is nowhere, and the program needs it. */
FATAL(do_push_nowhere, "movabs $0x800000000000, %%rsp; push %%rax")

static void do_fxrstor(void)
{
	static unsigned char area[512] __attribute__((aligned(16)));

	memset(area, 0xff, sizeof(area));
	__asm__ volatile("fxrstor64 %0" ::"m"(area));
}

static const struct {
	const char *name;
	void (*run)(void);
} fatal[] = {
	{"iret to selector 8", iret_to_8}, {"iret to selector 16", iret_to_16},
	{"far return to ring 0", far_return}, {"jump out of user space", jump_out},
	{"jump to the kernel", jump_to_kernel}, {"jump to the last page", jump_to_last_page},
	{"cli", do_cli}, {"hlt", do_hlt}, {"out", do_out}, {"wrmsr", do_wrmsr},
	{"mov to cr3", do_mov_cr3}, {"mov to dr7", do_mov_dr7}, {"invlpg", do_invlpg},
	{"int of the flush vector", do_int_tlb}, {"int 2", do_int_2},
	{"a selector of the LDT", do_load_ldt}, {"the TSS as data", do_load_tss},
	{"ring 0's stack segment", do_load_kernel_ds}, {"a selector past the GDT", do_load_gs_of_nowhere},
	{"a single step", do_single_step},
	{"a stack pointer to nowhere", do_push_nowhere},
};

static int status_of_child(void (*fn)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fn();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void check_fatal(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (!WIFSIGNALED(status_of_child(fatal[i].run)))
			check_that(false, fatal[i].name);
		else
			check_that(true, "it ends the program");
}

static void divide_by_zero_sse(void)
{
	volatile float zero = 0, one = 1;

	__asm__ volatile("movl $0x1d80, -64(%%rsp); ldmxcsr -64(%%rsp)" ::: "memory"); /* ZM clear */
	one = one / zero;
}

/* The exception is pending over a system call and a switch, and comes with the next instruction. */
static void divide_by_zero_x87(void)
{
	__asm__ volatile("fninit; movw $0x37b, -64(%%rsp); fldcw -64(%%rsp); fld1; fldz; fdivrp" ::: "memory");
	sched_yield();
	usleep(1000);
	__asm__ volatile("fwait");
}

static bool is_0_or(int status, int signal)
{
	return status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

static void check_fpu(void)
{
	/* QEMU's emulation raises none of these: then they do nothing. */
	check_that(is_0_or(status_of_child(do_mxcsr), SIGSEGV), "reserved bits in MXCSR end a program");
	check_that(is_0_or(status_of_child(do_fxrstor), SIGSEGV), "fxrstor of garbage ends a program");
	check_that(is_0_or(status_of_child(divide_by_zero_sse), SIGFPE), "an SSE exception is SIGFPE");
	check_returns("an unmasked x87 exception", WTERMSIG(status_of_child(divide_by_zero_x87)), SIGFPE);
}

/* ---- What the program survives --------------------------------------------------------------- */

/* A system call with these flags set; they are taken back afterwards. */
static long call_with_flags(unsigned long flags)
{
	long result;

	__asm__ volatile("sub $128, %%rsp\n\t"
			 "pushfq\n\t"
			 "or %2, (%%rsp)\n\t"
			 "popfq\n\t"
			 "syscall\n\t"
			 "pushfq\n\t"
			 "not %2\n\t"
			 "and %2, (%%rsp)\n\t"
			 "popfq\n\t"
			 "add $128, %%rsp"
			 : "=a"(result)
			 : "a"((long)SYS_getpid), "r"(flags)
			 : "rcx", "r11", "memory");
	return result;
}

/* A system call, then some time in which interrupts come, with a stack pointer of its own choice. */
static long call_with_stack(unsigned long stack)
{
	long result;

	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %2, %%rsp\n\t"
			 "syscall\n\t"
			 "mov $300000, %%ecx\n"
			 "1:\n\t"
			 "pause\n\t"
			 "loop 1b\n\t"
			 "mov %%rbx, %%rsp"
			 : "=a"(result)
			 : "a"((long)SYS_getpid), "r"(stack)
			 : "rbx", "rcx", "r11", "memory");
	return result;
}

static void check_calls(void)
{
	long pid = getpid();

	check_returns("a call with IOPL 3, which popf ignores", call_with_flags(EFLAGS_IOPL), pid);
	check_returns("a call with NT", call_with_flags(EFLAGS_NT), pid);
	check_returns("a call with AC", call_with_flags(EFLAGS_AC), pid);
	check_returns("a call with DF", call_with_flags(EFLAGS_DF), pid);
	check_returns("a call on no stack", call_with_stack(0), pid);
	check_returns("a call on a stack nowhere", call_with_stack(NOT_CANONICAL), pid);
	check_returns("a call on a kernel stack", call_with_stack(KERNEL_STACK), pid);
}

static void check_bases(void)
{
	static const unsigned long bad[] = {NOT_CANONICAL, NOT_CANONICAL - 4096, ~0UL, KERNEL_STACK, 1UL << 63};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_fails("an FS base that is not user space's",
			    syscall(SYS_arch_prctl, ARCH_SET_FS, bad[i]), EPERM);
		check_fails("a thread with such a base",
			    syscall(SYS_clone, CLONE_SETTLS | SIGCHLD, 0, 0, 0, bad[i]), EPERM);
	}
}

/* ---- Selectors ---------------------------------------------------------------------------- */

struct selectors {
	uint16_t ds, es, gs;
};

static struct selectors read_selectors(void)
{
	struct selectors s;

	__asm__ volatile("mov %%ds, %0; mov %%es, %1; mov %%gs, %2" : "=m"(s.ds), "=m"(s.es), "=m"(s.gs));
	return s;
}

/* FS stays: the C library lives by it. */
static void load_selectors(uint16_t selector)
{
	__asm__ volatile("mov %w0, %%ds; mov %w0, %%es; mov %w0, %%gs" ::"r"(selector) : "memory");
}

/* Both children run on one CPU in turn: each keeps its own, and sees nobody else's. */
static int keeps_selectors(int load)
{
	uint16_t data = 0;
	struct selectors now;

	if (load) {
		__asm__ volatile("mov %%ss, %0" : "=r"(data));
		load_selectors(data);
	}
	for (int i = 0; i < 500; i++) {
		sched_yield();
		now = read_selectors();
		if (now.ds != data || now.es != data || now.gs != data)
			return 1;
	}
	return 0;
}

static void check_selectors(void)
{
	cpu_set_t one;
	int status, bad = 0;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	fflush(stdout);
	for (int load = 0; load < 4; load++)
		if (fork() == 0) {
			sched_setaffinity(0, sizeof(one), &one);
			_exit(keeps_selectors(load % 2));
		}
	while (wait(&status) > 0)
		bad += status != 0;
	check_returns("children that lost a selector or saw another's", bad, 0);
}

int main(void)
{
	check_fatal();
	check_fpu();
	check_calls();
	check_bases();
	check_selectors();
	return check_done(PROGRAM);
}
