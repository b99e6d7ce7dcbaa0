#include "drivers/ioapic.h"

#include "arch/io.h"
#include "arch/paging.h"
#include "drivers/acpi.h"
#include "kernel/errno.h"
#include "kernel/log.h"

#define IOREGSEL 0x00
#define IOWIN    0x10

#define IOAPIC_VERSION  0x01
#define IOAPIC_REDIR(n) (0x10 + 2 * (n)) /* low half; the high half follows */

#define REDIR_ACTIVE_LOW (1u << 13)
#define REDIR_LEVEL      (1u << 15)
#define REDIR_MASKED     (1u << 16)

#define INTI_POLARITY(flags) ((flags)&3)
#define INTI_TRIGGER(flags)  ((flags) >> 2 & 3)

#define PIC1_COMMAND 0x20
#define PIC1_DATA    0x21
#define PIC2_COMMAND 0xa0
#define PIC2_DATA    0xa1

struct ioapic {
	char *regs;
	u32 gsi_base, nr_inputs;
};

static struct ioapic ioapics[ACPI_MAX_IOAPICS];
static u32 nr_ioapics;

static u32 ioapic_read(const struct ioapic *io, u32 reg)
{
	mmio_write32(io->regs + IOREGSEL, reg);
	return mmio_read32(io->regs + IOWIN);
}

static void ioapic_write(const struct ioapic *io, u32 reg, u32 value)
{
	mmio_write32(io->regs + IOREGSEL, reg);
	mmio_write32(io->regs + IOWIN, value);
}

/*
 * The 8259s stay masked, but a spurious interrupt of theirs cannot be: moved off the exceptions'
 * vectors it is merely counted.
 */
static void mask_8259(void)
{
	outb(PIC1_COMMAND, 0x11);
	outb(PIC2_COMMAND, 0x11);
	outb(PIC1_DATA, 0x20);
	outb(PIC2_DATA, 0x28);
	outb(PIC1_DATA, 4);
	outb(PIC2_DATA, 2);
	outb(PIC1_DATA, 1);
	outb(PIC2_DATA, 1);
	outb(PIC1_DATA, 0xff);
	outb(PIC2_DATA, 0xff);
}

static void init_one(const struct acpi_ioapic *desc)
{
	struct ioapic *io = &ioapics[nr_ioapics];

	io->regs = ioremap(desc->phys, PAGE_SIZE);
	if (!io->regs) {
		pr_warn("ioapic: cannot map the registers at %lx\n", desc->phys);
		return;
	}
	io->gsi_base = desc->gsi_base;
	io->nr_inputs = (ioapic_read(io, IOAPIC_VERSION) >> 16 & 0xff) + 1;
	for (u32 n = 0; n < io->nr_inputs; n++)
		ioapic_write(io, IOAPIC_REDIR(n), REDIR_MASKED);
	nr_ioapics++;
}

void ioapic_init(void)
{
	mask_8259();
	for (u32 i = 0; i < acpi_info.nr_ioapics; i++)
		init_one(&acpi_info.ioapic[i]);
}

static struct acpi_override find_override(u8 irq)
{
	for (u32 i = 0; i < acpi_info.nr_overrides; i++)
		if (acpi_info.override[i].irq == irq)
			return acpi_info.override[i];
	return (struct acpi_override){ irq, irq, 0 };
}

static const struct ioapic *find_ioapic(u32 gsi)
{
	for (u32 i = 0; i < nr_ioapics; i++)
		if (gsi - ioapics[i].gsi_base < ioapics[i].nr_inputs)
			return &ioapics[i];
	return NULL;
}

int ioapic_route_isa(u8 irq, u8 vector, u32 apic_id)
{
	struct acpi_override route = find_override(irq);
	const struct ioapic *io = find_ioapic(route.gsi);
	u32 low = vector, n;

	if (!io || apic_id > 0xff)
		return -ENODEV;
	if (INTI_POLARITY(route.flags) == 3)
		low |= REDIR_ACTIVE_LOW;
	if (INTI_TRIGGER(route.flags) == 3)
		low |= REDIR_LEVEL;
	n = route.gsi - io->gsi_base;
	ioapic_write(io, IOAPIC_REDIR(n), REDIR_MASKED);
	ioapic_write(io, IOAPIC_REDIR(n) + 1, apic_id << 24);
	ioapic_write(io, IOAPIC_REDIR(n), low);
	return 0;
}
