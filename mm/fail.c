/* fail.c - allocations that fail on purpose (see fail.h). */
#include "mm/fail.h"
#include "arch/atomic.h"
#include "kernel/cmdline.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/sched.h"
#include "kernel/task.h"
#include "kernel/thread.h"

#ifndef GATHER_RELEASE

bool fail_tlb_ubc;

static u64 every; /* 0: none fails */
static u64 asked;

static bool parse_every(const char *text)
{
	static const char prefix[] = "every:";

	if (memcmp(text, prefix, sizeof(prefix) - 1))
		return false;
	return parse_u64(text + sizeof(prefix) - 1, &every) == 0 && every;
}

void fail_init(void)
{
	char value[32] = "";

	if (cmdline_get("fail", value, sizeof(value)) <= 0)
		return;
	fail_tlb_ubc = !strcmp(value, "tlb_ubc");
	if (!fail_tlb_ubc && !parse_every(value))
		pr_warn("fail=%s is unknown: tlb_ubc and every:K are\n", value);
}

void fail_begin_call(void)
{
	const struct task *task = current->task;

	if (unlikely(every) && !task->server && !task->protected &&
	    atomic_add_fetch(&asked, 1) % every == 0)
		current->flags |= PF_FAIL;
}

void fail_end_call(void)
{
	current->flags &= ~PF_FAIL;
}

bool should_fail(void)
{
	return unlikely(every) && scheduler_running && (current->flags & PF_FAIL);
}

#endif
