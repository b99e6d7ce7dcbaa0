/*
 * main.c - the order in which the machine comes up. Each step names what it needs from those
 * before.
 */
#include "arch/cpu.h"
#include "arch/features.h"
#include "arch/gdt.h"
#include "arch/layout.h"
#include "arch/trap.h"
#include "boot/bootinfo.h"
#include "boot/multiboot2.h"
#include "boot/pvh.h"
#include "drivers/acpi.h"
#include "drivers/clock.h"
#include "drivers/exit.h"
#include "drivers/fw_cfg.h"
#include "drivers/ioapic.h"
#include "drivers/lapic.h"
#include "drivers/serial.h"
#include "kernel/cmdline.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/smp.h"

/* boot.asm calls it on the boot stack, interrupts off, on the boot page tables. */
void __noreturn kernel_main(u32 magic, u64 mbi_phys);

struct boot_info boot_info;

/* What boot.asm could not see yet; with its words and its status. */
static void check_boot_cpu(void)
{
	const char *missing = cpu_lacks();

	if (!missing)
		return;
	kprintf("\nboot: this CPU lacks %s: Gather needs a 64-bit CPU with all of its features "
		"(docs/01-boot.md)\n", missing);
	exit_machine(EXIT_PANIC);
}

static void read_boot_info(u32 magic, u64 mbi_phys)
{
	int err;

	if (magic == MULTIBOOT2_BOOTLOADER_MAGIC)
		err = multiboot2_parse(phys_to_virt(mbi_phys), BOOT_MAP_SIZE - mbi_phys, &boot_info);
	else if (magic == PVH_MAGIC)
		err = pvh_parse(phys_to_virt(0), BOOT_MAP_SIZE, mbi_phys, &boot_info);
	else
		panic("boot: magic %x is neither that of multiboot2 nor of PVH", magic);
	if (boot_info.nr_mem == 0)
		panic("boot: the boot loader gave no memory map (error %d)", err);
	if (err < 0)
		pr_warn("boot: the boot loader's information is malformed; using what precedes\n");
	if (boot_info.nr_dropped)
		pr_warn("boot: %u memory ranges or modules too many were dropped\n",
			boot_info.nr_dropped);
}

/* fw_cfg replaces the loader's command line, so that a test needs no ISO of its own. */
static void read_cmdline(void)
{
	static char text[CMDLINE_MAX + 1];
	int len = fw_cfg_read_string("opt/gather/cmdline", text, sizeof(text));
	u64 level;

	if (cmdline_set(len >= 0 ? text : boot_info.cmdline) < 0)
		pr_warn("boot: the command line was cut at %d bytes\n", CMDLINE_MAX - 1);
	if (cmdline_get_u64("loglevel", &level) == 0)
		log_level = (enum log_level)MIN(level, (u64)LOG_DEBUG);
	pr_info("boot: loader \"%s\", command line \"%s\"%s\n", boot_info.loader, cmdline_text(),
		len >= 0 ? " (fw_cfg)" : "");
}

static void init_boot_cpu(void)
{
	ist_stacks_init(&cpus[0]);
	gdt_load(&cpus[0]); /* this_cpu(), and so the log, from here on */
	trap_init();
	trap_init_cpu();
}

static void init_interrupts(void)
{
	lapic_init(acpi_info.lapic_phys);
	lapic_init_cpu();
	ioapic_init();
	clock_init();
	timer_init_cpu();
	pr_info("lapic: %s mode, boot CPU has APIC id %u\n", lapic_mode(), lapic_id());
	cpu_online(&cpus[0]);
}

void __noreturn kernel_main(u32 magic, u64 mbi_phys)
{
	serial_init();
	check_boot_cpu();
	kprintf(", long mode\nGather: a teaching microkernel for TLB shootdown and reclaim\n");
	init_boot_cpu();
	read_boot_info(magic, mbi_phys);
	read_cmdline();
	cpu_features_detect();
	cpu_features_enable();
	acpi_init();
	mm_init();
	init_interrupts();
	sched_init();
	smp_boot_aps();
	kernel_late_init();
}
