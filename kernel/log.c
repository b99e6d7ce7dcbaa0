#include "kernel/log.h"

#include "arch/cpu.h"
#include "arch/percpu.h"
#include "arch/trap.h"
#include "drivers/clock.h"
#include "drivers/exit.h"
#include "drivers/serial.h"
#include "kernel/cpu.h"
#include "kernel/lib.h"
#include "kernel/smp.h"
#include "kernel/symbols.h"

#define LINE_MAX       512
#define NO_CPU         (~0u)
#define STOP_DELAY_NS  (10 * NSEC_PER_MSEC) /* lets the other CPUs reach their NMI handler */

/*
 * The console lock: a ticket lock of its own, because the kernel's spinlocks check themselves and
 * report through the log.
 */
static struct {
	u32 next, serving;
} console_lock;

static enum log_level log_level = LOG_INFO;
static bool cpu_ids_known;
static u32 panic_cpu = NO_CPU;

static unsigned log_cpu(void)
{
	return cpu_ids_known ? smp_cpu_id() : 0;
}

bool panic_in_progress(void)
{
	return __atomic_load_n(&panic_cpu, __ATOMIC_ACQUIRE) != NO_CPU;
}

/* The panicking CPU goes without: the holder may have been stopped. */
static u64 lock_console(void)
{
	u64 flags = local_irq_save();
	u32 ticket;

	if (panic_in_progress())
		return flags;
	ticket = __atomic_fetch_add(&console_lock.next, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&console_lock.serving, __ATOMIC_ACQUIRE) != ticket &&
	       !panic_in_progress())
		cpu_relax();
	return flags;
}

static void unlock_console(u64 flags)
{
	__atomic_fetch_add(&console_lock.serving, 1, __ATOMIC_RELEASE);
	local_irq_restore(flags);
}

void console_write(const char *buf, size_t len)
{
	u64 flags = lock_console();

	for (size_t i = 0; i < len; i++) {
		if (buf[i] == '\n')
			serial_putc('\r');
		serial_putc(buf[i]);
	}
	unlock_console(flags);
}

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_use_cpu_ids(void)
{
	cpu_ids_known = true;
}

/* A line that was cut still ends. */
static void write_line(char *line, size_t len, size_t wanted)
{
	if (wanted > len)
		line[len - 1] = '\n';
	console_write(line, len);
}

void log_printf(enum log_level level, const char *fmt, ...)
{
	char line[LINE_MAX];
	u64 us = clock_ns() / NSEC_PER_USEC;
	va_list args;
	int len, more;

	if (level > log_level)
		return;
	len = scnprintf(line, sizeof(line), "[%4lu.%06lu] cpu%u: ", us / 1000000, us % 1000000,
			log_cpu());
	va_start(args, fmt);
	more = vsnprintf(line + len, sizeof(line) - len, fmt, args);
	va_end(args);
	write_line(line, MIN(len + more, LINE_MAX - 1), len + more);
}

void kprintf(const char *fmt, ...)
{
	char line[LINE_MAX];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	write_line(line, MIN(len, LINE_MAX - 1), len);
}

void __weak panic_dump_hooks(void)
{
}

/* Only the first panic of the machine returns from here. */
static void enter_panic(void)
{
	u32 self = log_cpu(), none = NO_CPU;

	local_irq_disable();
	if (__atomic_compare_exchange_n(&panic_cpu, &none, self, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		return;
	if (none != self)
		cpu_halt_forever();
	kprintf("panic: the kernel failed again while it was reporting; giving up\n");
	exit_machine(EXIT_PANIC);
}

static void __noreturn report_panic(const struct trap_frame *tf, const char *fmt, va_list args)
{
	char message[LINE_MAX / 2], thread[64] = "none";

	enter_panic();
	smp_stop_others();
	clock_delay_ns(STOP_DELAY_NS);
	vsnprintf(message, sizeof(message), fmt, args);
	kprintf("\nKERNEL PANIC: %s\n", message);
	if (cpu_ids_known)
		thread_describe(thread, sizeof(thread));
	kprintf("on cpu%u, thread %s\n", log_cpu(), thread);
	if (tf) {
		trap_frame_print(tf);
		backtrace_print(tf->rip, tf->rbp);
	} else {
		backtrace_print(0, read_frame_pointer());
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
