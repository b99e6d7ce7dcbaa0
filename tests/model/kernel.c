/* kernel.c - what the sources under test call and what does not matter here. */
#include <string.h>

#include "drivers/clock.h"
#include "kernel/cmdline.h"
#include "kernel/log.h"
#include "kernel/perturb.h"
#include "kernel/sched.h"
#include "mm/tlbsan.h"

bool scheduler_running = true;
u64 perturb_seed;
bool tlbsan_on;

void log_printf(enum log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

void preempt_check(void)
{
}

void __perturb(void)
{
}

u64 clock_ns(void)
{
	return 0;
}

int cmdline_get(const char *key, char *value, size_t size)
{
	(void)key;
	(void)value;
	(void)size;
	return -1;
}

int gather_strcmp(const char *a, const char *b);
int gather_strcmp(const char *a, const char *b)
{
	return strcmp(a, b);
}

/* The sanitizer stays off. */
void __tlbsan_pte_gone(struct mm *mm, u64 va, u64 old, bool gathered)
{
	(void)mm;
	(void)va;
	(void)old;
	(void)gathered;
}

#define NEVER(name, ...)                                                                           \
	void name(__VA_ARGS__)                                                                     \
	{                                                                                          \
		panic(#name " is called although the sanitizer is off");                       \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"
NEVER(__tlbsan_flushed_user, struct cpu *cpu)
NEVER(__tlbsan_leave_mm, struct cpu *cpu, struct mm *prev)
NEVER(__tlbsan_flushed_all, struct cpu *cpu)
NEVER(__tlbsan_flushed_page, struct cpu *cpu, struct mm *mm, u64 va)
NEVER(__tlbsan_skipped, struct cpu *cpu, const struct mm *mm)
NEVER(__tlbsan_check_free, struct page *page)
NEVER(__tlbsan_check_copy, struct page *page, const char *what)
NEVER(__tlbsan_check_map, struct mm *mm, u64 va, struct page *page)
NEVER(__tlbsan_check_range, struct mm *mm, u64 start, u64 end)
NEVER(__tlbsan_check_cpu, struct cpu *cpu)
NEVER(__tlbsan_check_dirty, struct page *page, u64 old)
