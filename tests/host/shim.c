/* shim.c - the kernel's surroundings, as far as pure code needs them (see shim.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/log.h"
#include "kernel/trace.h"
#include "mm/page.h"
#include "shim.h"

char host_panic_message[512];

static struct page frames[HOST_FRAMES];
struct page *mem_map = frames;
u64 max_pfn = HOST_FRAMES;
char host_memory[HOST_FRAMES * PAGE_SIZE] __aligned(PAGE_SIZE);

void host_reset(void)
{
	memset(frames, 0, sizeof(frames));
}

bool trace_on; /* stays false */

void __trace(enum trace_event event, u64 a, u64 b)
{
	panic("event %d (%lx, %lx) is traced, and nobody asked for it", event, a, b);
}

uint64_t host_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

void panic(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(host_panic_message, sizeof(host_panic_message), fmt, args);
	va_end(args);
	mock_assert(0, host_panic_message, "panic", 0);
	abort();
}

void log_printf(enum log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}
