/*
 * log.h - messages on the console, assertions, and the end of the road: panic.
 *
 * A call writes its line whole: one raw lock, with preemption off, covers the serial port and is
 * the last in the lock order, so every context may log, NMI excepted. Interrupts stay as they
 * were: one that logs may break into a line of its own CPU. panic breaks the lock. this_cpu() must
 * work: gdt_load comes first on every CPU. A line: `[   1.234567] cpu0: text`. Level by
 * `loglevel=` 0 (errors) .. 3 (debug) on the command line.
 */
#pragma once

#include "kernel/types.h"

enum log_level { LOG_ERR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Writes one line with the prefix if the level is enabled; fmt ends in \n. Cut at 511 bytes. */
void log_printf(enum log_level level, const char *fmt, ...) __printf(2, 3);

/* Messages above it are dropped. */
extern enum log_level log_level;

#define pr_err(...)   log_printf(LOG_ERR, __VA_ARGS__)
#define pr_warn(...)  log_printf(LOG_WARN, __VA_ARGS__)
#define pr_info(...)  log_printf(LOG_INFO, __VA_ARGS__)
#define pr_debug(...) log_printf(LOG_DEBUG, __VA_ARGS__)

/* Formatted text without prefix or level. */
void kprintf(const char *fmt, ...) __printf(1, 2);

/*
 * Bytes as they are (user writes), in whole lines of up to 512 bytes; \n becomes \r\n. Ends after
 * a line when the thread is killed. How many were written. Context: may sleep.
 */
size_t console_write(const char *buf, size_t len);

/*
 * Stops the machine: interrupts off, other CPUs stopped by NMI, then CPU, thread, message,
 * backtrace and panic_dump_hooks, and exit_machine(EXIT_PANIC). The first CPU wins; others halt.
 */
void __noreturn panic(const char *fmt, ...) __printf(1, 2);

struct trap_frame;

/* panic, with the registers and the backtrace of the interrupted context. */
void __noreturn panic_at(const struct trap_frame *tf, const char *fmt, ...) __printf(2, 3);

/* True once some CPU panics: the NMI handler then halts. */
bool panic_in_progress(void);

/* Weak no-op; another file may print its state here (trace events). No locks may be taken. */
void panic_dump_hooks(void);

/* Describes the current thread in a few words; provided by the scheduler. No locks. */
void thread_describe(char *buf, size_t size);

/* The condition must hold; the message names the values involved. Always compiled in. */
#define ASSERT(cond, fmt, ...)                                                                     \
	do {                                                                                       \
		if (unlikely(!(cond)))                                                             \
			panic("assertion failed: %s: " fmt " (%s:%d)", #cond, ##__VA_ARGS__,       \
			      __FILE__, __LINE__);                                                 \
	} while (0)
