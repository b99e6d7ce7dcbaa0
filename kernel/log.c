#include "kernel/log.h"

#include "arch/cpu.h"
#include "arch/percpu.h"
#include "arch/trap.h"
#include "drivers/clock.h"
#include "drivers/exit.h"
#include "drivers/serial.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/lock.h"
#include "kernel/smp.h"
#include "kernel/symbols.h"
#include "kernel/thread.h"

#define LINE_MAX      512
#define NO_CPU        (~0u)
#define STOP_DELAY_NS (10 * NSEC_PER_MSEC) /* lets the other CPUs reach their NMI handler */

/*
 * The CPU that writes, + 1; 0: none. Raw, because the kernel's spinlocks check themselves and report
 * through the log. A line takes milliseconds where a port is slow, so interrupts stay as they were,
 * for who writes and for who waits; an interrupt that logs on the CPU that writes breaks into the
 * line.
 */
static u32 console_owner;

enum log_level log_level = LOG_INFO;
static u32 panic_cpu = NO_CPU;

bool panic_in_progress(void)
{
	return __atomic_load_n(&panic_cpu, __ATOMIC_ACQUIRE) != NO_CPU;
}

static bool try_lock_console(u32 me)
{
	u32 nobody = 0;

	return __atomic_compare_exchange_n(&console_owner, &nobody, me, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* EARLY: the boot CPU, before this_cpu() works. NESTED: the console is this CPU's already. */
enum console_state { CONSOLE_EARLY, CONSOLE_NESTED, CONSOLE_LOCKED };

/* The panicking CPU goes without: the holder may have been stopped. */
static enum console_state lock_console(void)
{
	u32 me;

	if (!cpus[0].self)
		return CONSOLE_EARLY;
	preempt_disable();
	me = smp_cpu_id() + 1;
	if (READ_ONCE(console_owner) == me)
		return CONSOLE_NESTED;
	while (!try_lock_console(me) && !panic_in_progress())
		cpu_relax();
	return CONSOLE_LOCKED;
}

static void unlock_console(enum console_state state)
{
	if (state == CONSOLE_LOCKED)
		__atomic_store_n(&console_owner, 0, __ATOMIC_RELEASE);
	if (state != CONSOLE_EARLY)
		preempt_enable();
}

static void write_whole(const char *buf, size_t len)
{
	enum console_state state = lock_console();

	for (size_t i = 0; i < len; i++) {
		if (buf[i] == '\n')
			serial_putc('\r');
		serial_putc(buf[i]);
	}
	unlock_console(state);
}

/* To the end of the first line, or as much as a line may have. */
static size_t line_length(const char *buf, size_t len)
{
	size_t n = 0;

	len = MIN(len, (size_t)LINE_MAX);
	while (n < len && buf[n] != '\n')
		n++;
	return MIN(n + 1, len);
}

size_t console_write(const char *buf, size_t len)
{
	size_t done = 0, n;

	while (done < len && !thread_killed(current)) {
		n = line_length(buf + done, len - done);
		write_whole(buf + done, n);
		done += n;
	}
	return done;
}

/* A line that was cut still ends. */
static void write_line(char *line, int wanted)
{
	if (wanted >= LINE_MAX) {
		wanted = LINE_MAX - 1;
		line[wanted - 1] = '\n';
	}
	write_whole(line, (size_t)wanted);
}

void log_printf(enum log_level level, const char *fmt, ...)
{
	char line[LINE_MAX];
	u64 us = clock_ns() / NSEC_PER_USEC;
	va_list args;
	int len;

	if (level > log_level)
		return;
	len = snprintf(line, sizeof(line), "[%4lu.%06lu] cpu%u: ", us / 1000000, us % 1000000,
		       smp_cpu_id());
	va_start(args, fmt);
	len += vsnprintf(line + len, sizeof(line) - (size_t)len, fmt, args);
	va_end(args);
	write_line(line, len);
}

void kprintf(const char *fmt, ...)
{
	char line[LINE_MAX];
	va_list args;

	va_start(args, fmt);
	write_line(line, vsnprintf(line, sizeof(line), fmt, args));
	va_end(args);
}

void __weak panic_dump_hooks(void)
{
}

/* Only the first panic of the machine returns from here. */
static void enter_panic(void)
{
	u32 winner = NO_CPU;

	local_irq_disable();
	if (__atomic_compare_exchange_n(&panic_cpu, &winner, smp_cpu_id(), false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		return;
	if (winner != smp_cpu_id())
		cpu_halt_forever();
	kprintf("panic: the kernel failed again while it was reporting; giving up\n");
	exit_machine(EXIT_PANIC);
}

static void __noreturn report_panic(const struct trap_frame *tf, const char *fmt, va_list args)
{
	char message[LINE_MAX - 32], thread[64];

	enter_panic();
	smp_stop_others();
	clock_delay_ns(STOP_DELAY_NS);
	vsnprintf(message, sizeof(message), fmt, args);
	thread_describe(thread, sizeof(thread));
	kprintf("\nKERNEL PANIC: %s\n", message);
	kprintf("on cpu%u, thread %s\n", smp_cpu_id(), thread);
	if (tf) {
		trap_frame_print(tf);
		backtrace_print(tf->rip, tf->rbp);
	} else {
		backtrace_print(0, (u64)__builtin_frame_address(0));
	}
	panic_dump_hooks();
	exit_machine(EXIT_PANIC);
}

void __noreturn panic(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	report_panic(NULL, fmt, args);
}

void __noreturn panic_at(const struct trap_frame *tf, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	report_panic(tf, fmt, args);
}
