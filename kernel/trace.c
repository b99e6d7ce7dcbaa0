/* trace.c - recording events, reading them meanwhile, a panic's last ones (see trace.h). */
#include "kernel/trace.h"
#include "arch/cpu.h"
#include "drivers/clock.h"
#include "drivers/debugcon.h"
#include "kernel/cmdline.h"
#include "kernel/errno.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/perturb.h"
#include "kernel/thread.h"
#include "mm/tlbsan.h"
#include "mm/vmalloc.h"

STATIC_ASSERT(sizeof(struct trace_record) == 40, "the header below says so");

#define X(event, a, b) #event " " #a " " #b "\n"
static const char port_header[] = "GATHER-TRACE 1 40\n" TRACE_EVENTS(X) "\n";
#undef X

bool trace_on;
static bool to_port;
static u64 last_order;
static u64 next_slot[NR_CPUS];
static struct trace_record *rings[NR_CPUS];

u64 trace_text(const char *text)
{
	u64 packed = 0;

	memcpy(&packed, text, strnlen(text, sizeof(packed)));
	return packed;
}

void __trace(enum trace_event event, u64 a, u64 b)
{
	u64 flags = local_irq_save(), order = atomic_add_fetch(&last_order, 1);
	u32 cpu = smp_cpu_id();
	u64 slot = atomic_add_fetch(&next_slot[cpu], 1) % TRACE_RING_RECORDS;
	struct trace_record *r = &rings[cpu][slot];
	struct trace_record new = {0, clock_ns(), current->tid, (u16)cpu, (u16)event, a, b};

	WRITE_ONCE(r->order, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*r = new;
	SYNC_POINT(trace_write);
	store_release(&r->order, order); /* pairs with trace_read */
	new.order = order;
	if (to_port)
		debugcon_write(&new, sizeof(new));
	local_irq_restore(flags);
}

bool trace_read(unsigned cpu, unsigned slot, struct trace_record *record)
{
	const struct trace_record *r = rings[cpu] ? &rings[cpu][slot] : NULL;
	u64 order = r ? load_acquire(&r->order) : 0;

	if (!order)
		return false;
	SYNC_POINT(trace_read);
	*record = *r;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return READ_ONCE(r->order) == order;
}

int trace_set(bool on)
{
	u32 cpu;

	for (cpu = 0; on && cpu < nr_cpus_present; cpu++) {
		if (!rings[cpu])
			rings[cpu] = vzalloc(TRACE_RING_BYTES);
		if (!rings[cpu])
			return -ENOMEM;
	}
	store_release(&trace_on, on); /* after the rings */
	return 0;
}

void trace_init(void)
{
	char value[8];

	if (cmdline_get("trace", value, sizeof(value)) == -ENOENT) {
		if (tlbsan_on && trace_set(true)) /* its reports end with what came before */
			pr_warn("trace: no memory for the rings\n");
		return;
	}
	if (!strcmp(value, "off"))
		return;
	to_port = !strcmp(value, "port");
	if (!to_port && strcmp(value, "on")) {
		pr_warn("trace=%s is unknown: on, off and port are\n", value);
		return;
	}
	if (to_port && !debugcon_present()) {
		pr_warn("trace=port: QEMU was started without -debugcon: rings only\n");
		to_port = false;
	}
	if (to_port)
		debugcon_write(port_header, sizeof(port_header) - 1);
	if (trace_set(true))
		pr_warn("trace: no memory for the rings\n");
}

/* ---- Panic: other CPUs are stopped, and what they were writing stays a record of order 0. ---- */

static void print_argument(const char *name, u64 value)
{
	char text[sizeof(value) + 1] = "";

	memcpy(text, &value, sizeof(value));
	if (strcmp(name, "name"))
		kprintf(" %s=%lx", name, value);
	else
		kprintf(" %s=%s", name, text);
}

static void print_record(const struct trace_record *r)
{
#define X(event, a, b) {#event, #a, #b},
	static const char *const names[NR_TRACE_EVENTS][3] = {TRACE_EVENTS(X)};
#undef X
	const char *const *name = names[r->event];

	kprintf("%8lu %4lu.%09lu cpu%u tid %u %s", r->order, r->ns / NSEC_PER_SEC,
		r->ns % NSEC_PER_SEC, r->cpu, r->tid, name[0]);
	print_argument(name[1], r->a);
	print_argument(name[2], r->b);
	kprintf("\n");
}

static void print_event(u64 order)
{
	struct trace_record record;
	unsigned cpu, slot;

	for_each_online_cpu(cpu)
		for (slot = 0; slot < TRACE_RING_RECORDS; slot++)
			if (trace_read(cpu, slot, &record) && record.order == order)
				print_record(&record);
}

void panic_dump_hooks(void)
{
	u64 order, last = READ_ONCE(last_order), n = MIN(last, (u64)TRACE_PANIC_EVENTS);

	trace_on = false;
	if (n)
		kprintf("the last %lu events:\n", n);
	for (order = last - n + 1; order <= last; order++)
		print_event(order);
}
