/* proc.c - the files in /proc: figures of the kernel in Linux's formats. */
#include "user/fs/proc.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "user/lib/cpus.h"
#include "user/lib/gather.h"

#define MAX_CPUS     64
#define KIB_PER_PAGE 4

static struct info_system sys;
static struct info_cpu cpus[MAX_CPUS];
static unsigned int nr_cpus;

typedef unsigned long long ull;

/* ---- interrupts --------------------------------------------------------------------------- */

static ull timer_irqs(const struct info_cpu *c)
{
	return c->timer_irqs;
}

static ull resched_irqs(const struct info_cpu *c)
{
	return c->resched_irqs;
}

static ull serial_irqs(const struct info_cpu *c)
{
	return c->serial_irqs;
}

static ull spurious_irqs(const struct info_cpu *c)
{
	return c->spurious_irqs;
}

static ull tlb_irqs(const struct info_cpu *c)
{
	ull taken = 0;

	for (unsigned int reason = 0; reason < NR_TLB_REASONS; reason++)
		taken += c->tlb[reason].taken;
	return taken;
}

static const struct {
	const char *label;
	ull (*count)(const struct info_cpu *c);
	const char *meaning;
} rows[] = {
	{ "4", serial_irqs, "IO-APIC 4-edge ttyS0" },
	{ "SPU", spurious_irqs, "Spurious interrupts" },
	{ "LOC", timer_irqs, "Local timer interrupts" },
	{ "RES", resched_irqs, "Rescheduling interrupts" },
	{ "TLB", tlb_irqs, "TLB shootdowns" },
};

static void show_interrupts(struct text *out)
{
	text_printf(out, "     ");
	for (unsigned int i = 0; i < nr_cpus; i++)
		text_printf(out, "       CPU%-3u", cpus[i].cpu);
	text_printf(out, "\n");
	for (unsigned int row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		text_printf(out, "%3s: ", rows[row].label);
		for (unsigned int i = 0; i < nr_cpus; i++)
			text_printf(out, "%10llu   ", rows[row].count(&cpus[i]));
		text_printf(out, "%s\n", rows[row].meaning);
	}
}

/* ---- vmstat, meminfo, cpuinfo -------------------------------------------------------------- */

static void show_vmstat(struct text *out)
{
	struct info_vmstat v;

	memset(&v, 0, sizeof(v));
	gather_info(INFO_VMSTAT, &v, sizeof(v));
	const struct {
		const char *name;
		ull value;
	} lines[] = {
		{ "nr_free_pages", sys.mem_free_pages },
		{ "nr_inactive_anon", sys.inactive_anon },
		{ "nr_active_anon", sys.active_anon },
		{ "nr_inactive_file", sys.inactive_file },
		{ "nr_active_file", sys.active_file },
		{ "nr_page_table_pages", sys.pagetable_pages },
		{ "nr_limbo", sys.limbo_pages },
		{ "pgpgin", v.pgpgin },
		{ "pgpgout", v.pgpgout },
		{ "pgfault", v.pgfault },
		{ "pgmajfault", v.pgmajfault },
		{ "pgactivate", v.pgactivate },
		{ "pgdeactivate", v.pgdeactivate },
		{ "pgrefill", v.pgrefill },
		{ "pgscan", v.pgscan },
		{ "pgsteal", v.pgsteal_kswapd + v.pgsteal_direct },
		{ "pgsteal_kswapd", v.pgsteal_kswapd },
		{ "pgsteal_direct", v.pgsteal_direct },
		{ "oom_kill", v.oom_kill },
		{ "unmapped_pages", v.unmapped_pages },
		{ "unmapped_sharers", v.unmapped_sharers },
		{ "tlb_batch_allocated", v.batch_allocated },
		{ "tlb_batch_alloc_failed", v.batch_alloc_failed },
		{ "tlb_batch_flushes", v.batch_flushes },
		{ "cow_copies", v.cow_copies },
		{ "unknown_syscalls", v.unknown_syscalls },
	};
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		text_printf(out, "%s %llu\n", lines[i].name, lines[i].value);
}

static void kib(struct text *out, const char *label, uint64_t pages)
{
	text_printf(out, "%-15s %8llu kB\n", label, (ull)pages * KIB_PER_PAGE);
}

static void show_meminfo(struct text *out)
{
	kib(out, "MemTotal:", sys.mem_total_pages);
	kib(out, "MemFree:", sys.mem_free_pages);
	kib(out, "Cached:", sys.active_file + sys.inactive_file);
	kib(out, "Active:", sys.active_anon + sys.active_file);
	kib(out, "Inactive:", sys.inactive_anon + sys.inactive_file);
	kib(out, "Active(anon):", sys.active_anon);
	kib(out, "Inactive(anon):", sys.inactive_anon);
	kib(out, "Active(file):", sys.active_file);
	kib(out, "Inactive(file):", sys.inactive_file);
	kib(out, "PageTables:", sys.pagetable_pages);
	kib(out, "Other:", sys.other_pages);
	kib(out, "Limbo:", sys.limbo_pages);
}

static void show_cpuinfo(struct text *out)
{
	char model[CPU_MODEL_SIZE];

	cpu_model(model);
	for (unsigned int i = 0; i < nr_cpus; i++) {
		text_printf(out, "processor\t: %u\n", cpus[i].cpu);
		text_printf(out, "model name\t: %s\n", model);
		text_printf(out, "cpu MHz\t\t: %llu.%03llu\n", (ull)sys.tsc_khz / 1000,
			    (ull)sys.tsc_khz % 1000);
		text_printf(out, "apicid\t\t: %u\n", cpus[i].apic_id);
		text_printf(out, "initial apicid\t: %u\n\n", cpus[i].apic_id);
	}
}

/* ---- Names -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*show)(struct text *out);
} files[] = {
	{ "cpuinfo", show_cpuinfo },
	{ "interrupts", show_interrupts },
	{ "meminfo", show_meminfo },
	{ "vmstat", show_vmstat },
};

static int sample(void)
{
	long bytes = gather_info(INFO_CPUS, cpus, sizeof(cpus));

	if (bytes < 0 || gather_info(INFO_SYSTEM, &sys, sizeof(sys)) < 0)
		return -errno;
	nr_cpus = (unsigned int)((size_t)bytes / sizeof(cpus[0]));
	return 0;
}

int proc_read(const char *name, struct text *out)
{
	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int error;

		if (strcmp(files[i].name, name) != 0)
			continue;
		error = sample();
		if (error)
			return error;
		files[i].show(out);
		return 0;
	}
	return -ENOENT;
}

void proc_list(struct text *out)
{
	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		text_printf(out, "%s\n", files[i].name);
}
