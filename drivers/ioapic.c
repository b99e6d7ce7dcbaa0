#include "drivers/ioapic.h"

#include "arch/io.h"
#include "arch/paging.h"
#include "drivers/acpi.h"
#include "kernel/errno.h"

#define IOREGSEL 0x00
#define IOWIN    0x10

#define IOAPIC_VERSION  0x01
#define IOAPIC_REDIR(n) (0x10 + 2 * (n)) /* low half; the high half follows */

#define REDIR_ACTIVE_LOW (1u << 13)
#define REDIR_LEVEL      (1u << 15)
#define REDIR_MASKED     (1u << 16)

#define INTI_POLARITY(flags) ((flags)&3)
#define INTI_TRIGGER(flags)  ((flags) >> 2 & 3)

#define PIC1 0x20
#define PIC2 0xa0

struct ioapic {
	char *regs;
	u32 gsi_base, nr_inputs;
};

static struct ioapic ioapics[ACPI_MAX_IOAPICS];

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
 * vectors it is merely counted. Four initialisation words, then the mask.
 */
static void mask_8259(u16 port, u8 vector, u8 cascade)
{
	outb(port, 0x11);
	outb(port + 1, vector);
	outb(port + 1, cascade);
	outb(port + 1, 1);
	outb(port + 1, 0xff);
}

void ioapic_init(void)
{
	mask_8259(PIC1, 0x20, 4);
	mask_8259(PIC2, 0x28, 2);
	for (u32 i = 0; i < acpi_info.nr_ioapics; i++) {
		struct ioapic *io = &ioapics[i];

		io->regs = ioremap(acpi_info.ioapic[i].phys, PAGE_SIZE);
		io->gsi_base = acpi_info.ioapic[i].gsi_base;
		io->nr_inputs = (ioapic_read(io, IOAPIC_VERSION) >> 16 & 0xff) + 1;
		for (u32 n = 0; n < io->nr_inputs; n++)
			ioapic_write(io, IOAPIC_REDIR(n), REDIR_MASKED);
	}
}

static struct acpi_override find_override(u8 irq)
{
	for (u32 i = 0; i < acpi_info.nr_overrides; i++)
		if (acpi_info.override[i].irq == irq)
			return acpi_info.override[i];
	return (struct acpi_override){irq, irq, 0};
}

static const struct ioapic *find_ioapic(u32 gsi)
{
	for (u32 i = 0; i < acpi_info.nr_ioapics; i++)
		if (gsi - ioapics[i].gsi_base < ioapics[i].nr_inputs)
			return &ioapics[i];
	return NULL;
}

int ioapic_route_isa(u8 irq, u8 vector, u32 apic_id)
{
	struct acpi_override route = find_override(irq);
	const struct ioapic *io = find_ioapic(route.gsi);
	u32 low = vector;
	u32 reg;

	if (!io || apic_id > 0xff)
		return -ENODEV;
	if (INTI_POLARITY(route.flags) == 3)
		low |= REDIR_ACTIVE_LOW;
	if (INTI_TRIGGER(route.flags) == 3)
		low |= REDIR_LEVEL;
	reg = IOAPIC_REDIR(route.gsi - io->gsi_base);
	ioapic_write(io, reg + 1, apic_id << 24); /* masked by ioapic_init until the next write */
	ioapic_write(io, reg, low);
	return 0;
}
