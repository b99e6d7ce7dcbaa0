#include "drivers/debugcon.h"

#include "arch/atomic.h"
#include "arch/cpu.h"
#include "arch/io.h"
#include "kernel/log.h"

#define DEBUGCON_PORT 0xe9

static bool locked;

bool debugcon_present(void)
{
	return inb(DEBUGCON_PORT) == DEBUGCON_PORT;
}

void debugcon_write(const void *record, size_t bytes)
{
	u64 flags = local_irq_save();

	while (xchg(&locked, true) && !panic_in_progress())
		cpu_relax();
	if (!panic_in_progress()) {
		outsb(DEBUGCON_PORT, record, bytes);
		store_release(&locked, false);
	}
	local_irq_restore(flags);
}
