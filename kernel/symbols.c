#include "kernel/symbols.h"

#include "arch/layout.h"
#include "kernel/ksyms.h"
#include "kernel/lib.h"
#include "kernel/log.h"

#define MAX_FRAMES      32
#define MAX_FRAME_BYTES (64 * KIB) /* no stack is larger: further away is not the same stack */

struct frame {
	struct frame *caller;
	u64 return_address;
};

/* The last symbol at or below the offset; there is one, as __text_start is the first. */
static const struct ksym *search(u32 offset)
{
	u32 low = 0, high = nr_ksyms;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (ksyms[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return &ksyms[low];
}

const char *symbol_lookup(u64 address, u64 *offset)
{
	const struct ksym *sym;

	if (address < (u64)__text_start || address >= (u64)__text_end || nr_ksyms == 0)
		return NULL;
	sym = search((u32)(address - (u64)__text_start));
	*offset = address - (u64)__text_start - sym->offset;
	return ksym_names + sym->name;
}

void symbol_format(char *buf, size_t size, u64 address)
{
	u64 offset;
	const char *name = symbol_lookup(address, &offset);

	if (name)
		snprintf(buf, size, "%s+0x%lx/%016lx", name, offset, address);
	else
		snprintf(buf, size, "%016lx", address);
}

/*
 * A call that never returns may be its function's last instruction: look up the call, not what
 * follows.
 */
static void print_caller(u64 return_address)
{
	u64 offset;
	const char *name = symbol_lookup(return_address - 1, &offset);

	kprintf("  %s+0x%lx/%016lx\n", name ? name : "?", name ? offset + 1 : 0, return_address);
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

	char text[96];

	kprintf("backtrace:\n");
	if (rip) {
		symbol_format(text, sizeof(text), rip);
		kprintf("  %s\n", text);
	}
	for (unsigned i = 0; i < MAX_FRAMES && plausible(frame, last); i++) {
		print_caller(frame->return_address);
		last = frame;
		frame = frame->caller;
	}
}
