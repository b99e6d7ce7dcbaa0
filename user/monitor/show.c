/* show.c - commands that show figures of the kernel. */
#include <stdio.h>
#include <string.h>

#include "user/monitor/commands.h"
#include "user/monitor/system.h"

static struct cpu_sample sample;

static const char *const reasons[NR_TLB_REASONS] = {
	[TLB_RECLAIM] = "reclaim", [TLB_MIGRATE] = "migrate", [TLB_UNMAP] = "unmap",
	[TLB_PROTECT] = "protect", [TLB_COW] = "cow",         [TLB_VMALLOC] = "vmalloc",
	[TLB_EXIT] = "exit",
};

/* ---- stat --------------------------------------------------------------------------------- */

static void print_counters(const char *label, const struct tlb_counters *c)
{
	printf("%-8s %10llu %10llu %10llu %10llu %10llu %10llu %10llu\n", label, (ull)c->icr,
	       (ull)c->targets, (ull)c->taken, (ull)c->coalesced, (ull)c->flushes, (ull)c->freed,
	       (ull)c->lazy);
}

static void print_counter_names(const char *label)
{
	printf("%-8s %10s %10s %10s %10s %10s %10s %10s\n", label, "ICR writes", "targets",
	       "interrupts", "coalesced", "flushes", "freed", "lazy");
}

static void print_activity(void)
{
	printf("%-8s %10s %10s %10s %10s %10s %10s %10s\n", "CPU", "APIC id", "timer", "resched",
	       "switches", "faults", "syscalls", "idle ms");
	for (unsigned int i = 0; i < sample.count; i++) {
		const struct info_cpu *c = &sample.cpu[i];

		printf("%-8u %10u %10llu %10llu %10llu %10llu %10llu %10llu\n", c->cpu, c->apic_id,
		       (ull)c->timer_irqs, (ull)c->resched_irqs, (ull)c->context_switches,
		       (ull)c->page_faults, (ull)c->syscalls, (ull)c->idle_ns / 1000000);
	}
}

/* As far as alarms came in such times. */
static void print_latest_alarm(void)
{
	uint64_t late = 0;

	for (unsigned int i = 0; i < sample.count; i++)
		late = sample.cpu[i].timer_late_ns > late ? sample.cpu[i].timer_late_ns : late;
	printf("\nRESULT exp=alarms latest_ns=%llu\n", (ull)late);
}

static void print_flushes_by_cpu(void)
{
	print_counter_names("CPU");
	for (unsigned int i = 0; i < sample.count; i++) {
		struct tlb_counters sum = { 0 };
		char label[16];

		for (unsigned int reason = 0; reason < NR_TLB_REASONS; reason++)
			tlb_counters_add(&sum, &sample.cpu[i].tlb[reason]);
		snprintf(label, sizeof(label), "%u", sample.cpu[i].cpu);
		print_counters(label, &sum);
	}
}

static void print_flushes_by_reason(void)
{
	struct tlb_counters total = { 0 };

	print_counter_names("reason");
	for (unsigned int reason = 0; reason < NR_TLB_REASONS; reason++) {
		struct tlb_counters c = tlb_counters_of(&sample, (enum tlb_reason)reason);

		print_counters(reasons[reason], &c);
		tlb_counters_add(&total, &c);
	}
	print_counters("total", &total);
}

bool command_stat(int argc, char **argv)
{
	struct info_system sys;

	(void)argc;
	(void)argv;
	if (!system_info(&sys) || !system_cpus(&sample))
		return false;
	printf("up %llu.%03llu s, %u of %u CPUs online, %s, TSC %llu MHz, tlb=%s migrate=%s\n\n",
	       (ull)sys.uptime_ns / 1000000000, (ull)sys.uptime_ns / 1000000 % 1000,
	       sys.cpus_online, sys.cpus_present, sys.apic_mode, (ull)sys.tsc_khz / 1000,
	       sys.tlb_policy, sys.migrate_policy);
	print_activity();
	print_latest_alarm();
	puts("\nTLB flushes");
	print_flushes_by_cpu();
	puts("");
	print_flushes_by_reason();
	return true;
}

/* ---- mem ---------------------------------------------------------------------------------- */

static void print_pages(const char *label, uint64_t pages)
{
	printf("  %-22s %9llu pages %8llu KiB\n", label, (ull)pages, (ull)pages * 4);
}

static void print_memory(const struct info_system *sys)
{
	print_pages("RAM", sys->mem_boot_pages);
	print_pages("managed", sys->mem_total_pages);
	print_pages("free", sys->mem_free_pages);
	for (unsigned int node = 0; sys->nr_nodes > 1 && node < sys->nr_nodes; node++) {
		char label[16];

		snprintf(label, sizeof(label), "  on node %u", node);
		print_pages(label, sys->node_free_pages[node]);
	}
	print_pages("file, active", sys->active_file);
	print_pages("file, inactive", sys->inactive_file);
	print_pages("anonymous, active", sys->active_anon);
	print_pages("anonymous, inactive", sys->inactive_anon);
	print_pages("limbo (not flushed)", sys->limbo_pages);
	print_pages("kernel and pinned", sys->other_pages);
	print_pages("page tables", sys->pagetable_pages);
	printf("  watermarks: min %llu, low %llu, high %llu pages\n", (ull)sys->watermark_min,
	       (ull)sys->watermark_low, (ull)sys->watermark_high);
}

bool command_mem(int argc, char **argv)
{
	struct info_system sys;
	struct info_vmstat v;

	(void)argc;
	(void)argv;
	if (!system_info(&sys) || !system_vmstat(&v))
		return false;
	print_memory(&sys);
	printf("  faults: %llu, of them %llu waited for a pager\n", (ull)v.pgfault,
	       (ull)v.pgmajfault);
	printf("  reclaim: %llu pages scanned, %llu taken (%llu in the background), %llu killed\n",
	       (ull)v.pgscan, (ull)(v.pgsteal_kswapd + v.pgsteal_direct), (ull)v.pgsteal_kswapd, (ull)v.oom_kill);
	printf("  batches: %llu allocated, %llu not to be had, %llu flushed\n",
	       (ull)v.batch_allocated, (ull)v.batch_alloc_failed, (ull)v.batch_flushes);
	return true;
}

/* ---- ps ----------------------------------------------------------------------------------- */

bool command_ps(int argc, char **argv)
{
	const struct info_task *tasks;
	int count = system_tasks(&tasks);

	(void)argc;
	(void)argv;
	if (count < 0)
		return false;
	printf("%5s %5s %7s %3s %s %9s  %s\n", "PID", "PPID", "THREADS", "CPU", "S", "RSS KiB",
	       "NAME");
	for (int i = 0; i < count; i++) {
		const struct info_task *t = &tasks[i];

		printf("%5u %5u %7u %3u %c %9llu  %.*s%s\n", t->pid, t->ppid, t->nr_threads, t->cpu,
		       t->state, (ull)t->rss_pages * 4, (int)sizeof(t->name), t->name,
		       t->pinned ? " (pinned)" : "");
	}
	return true;
}
