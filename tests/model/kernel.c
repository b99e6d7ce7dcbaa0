/* kernel.c - what the sources under test call and what does not matter here. */
#include <string.h>

#include "drivers/clock.h"
#include "kernel/cmdline.h"
#include "kernel/log.h"
#include "kernel/sched.h"
#include "mm/mm.h"

bool scheduler_running = true;

void log_printf(enum log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

void preempt_check(void)
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

/* Nothing is moved here. */
u64 vma_pte_bits(const struct vm_area *vma, bool writable)
{
	(void)vma;
	(void)writable;
	panic("a migration entry is removed");
}
