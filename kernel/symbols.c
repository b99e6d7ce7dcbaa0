#include "kernel/symbols.h"

#include "arch/layout.h"
#include "kernel/log.h"

#define MAX_FRAMES      32
#define MAX_FRAME_BYTES (64 * KIB) /* no stack is larger: further away is not the same stack */

struct frame {
	struct frame *caller;
	u64 return_address;
};

/* The last symbol at or below the address: __text_start is the first. */
const char *symbol_lookup(u64 address, u64 *offset)
{
	u64 in_text = address - (u64)__text_start;
	u32 low = 0, high = nr_ksyms;

	*offset = address;
	if (address < (u64)__text_start || address >= (u64)__text_end || nr_ksyms == 0)
		return "?";
	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (ksyms[middle].offset <= in_text)
			low = middle;
		else
			high = middle;
	}
	*offset = in_text - ksyms[low].offset;
	return ksym_names + ksyms[low].name;
}

/* A call that never returns may end its function: `back` 1 looks up the call, not what follows. */
static void print_address(u64 address, unsigned back)
{
	u64 offset;
	const char *name = symbol_lookup(address - back, &offset);

	kprintf("  %s+0x%lx/%016lx\n", name, offset + back, address);
}

/* May the two words at this frame pointer be read? Kernel half, aligned, above the last one. */
static bool plausible(const struct frame *frame, const struct frame *last)
{
	u64 address = (u64)frame;

	return address >= DIRECT_MAP_BASE && IS_ALIGNED(address, 8) &&
	       (!last || (frame > last && address - (u64)last < MAX_FRAME_BYTES));
}

void backtrace_print(u64 rip, u64 rbp)
{
	const struct frame *frame = (const struct frame *)rbp, *last = NULL;

	kprintf("backtrace:\n");
	if (rip)
		print_address(rip, 0);
	for (unsigned i = 0; i < MAX_FRAMES && plausible(frame, last); i++) {
		print_address(frame->return_address, 1);
		last = frame;
		frame = frame->caller;
	}
}
