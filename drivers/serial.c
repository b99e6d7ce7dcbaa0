#include "drivers/serial.h"

#include "arch/cpu.h"
#include "arch/io.h"
#include "arch/trap.h"
#include "arch/vectors.h"
#include "drivers/ioapic.h"
#include "kernel/cpu.h"
#include "kernel/log.h"

#define COM1     0x3f8
#define COM1_IRQ 4

enum uart_reg { /* 16550 data sheet; DLL and DLM replace DATA and IER while LCR.DLAB is set */
	UART_DATA = COM1,
	UART_IER = COM1 + 1,
	UART_FCR = COM1 + 2,
	UART_LCR = COM1 + 3,
	UART_MCR = COM1 + 4,
	UART_LSR = COM1 + 5,
};

#define IER_RECEIVE 0x01
#define FCR_ENABLE  0x07 /* FIFOs on and emptied; interrupt at the first byte */
#define LCR_8N1     0x03
#define LCR_DLAB    0x80
#define MCR_ON      0x0b /* DTR, RTS, OUT2: the PC's gate for the interrupt line */
#define LSR_DATA    0x01
#define LSR_THRE    0x20
#define LSR_TEMT    0x40
#define DIVISOR     1 /* 115200 baud */
#define POLL_MAX    200000

static bool stuck; /* it did not become ready in time: until it does, nobody waits for it */
static void (*input_handler)(u8 byte);

void serial_init(void)
{
	/* The byte that boot.asm wrote last is still on its way. */
	for (unsigned i = 0; i < POLL_MAX && !(inb(UART_LSR) & LSR_TEMT); i++)
		cpu_relax();
	outb(UART_LCR, LCR_DLAB | LCR_8N1);
	outb(UART_DATA, DIVISOR);
	outb(UART_IER, 0); /* the divisor's high byte; below, no interrupts */
	outb(UART_LCR, LCR_8N1);
	outb(UART_IER, 0);
	outb(UART_FCR, FCR_ENABLE);
	outb(UART_MCR, MCR_ON);
}

void serial_putc(char c)
{
	bool ready = inb(UART_LSR) & LSR_THRE;

	for (unsigned i = 0; !ready && !stuck && i < POLL_MAX; i++) {
		cpu_relax();
		ready = inb(UART_LSR) & LSR_THRE;
	}
	stuck = !ready;
	outb(UART_DATA, (u8)c);
}

static void serial_irq(void)
{
	this_cpu_add64(stat.serial_irqs, 1);
	while (inb(UART_LSR) & LSR_DATA)
		input_handler(inb(UART_DATA));
}

void serial_enable_irq(void (*input)(u8 byte))
{
	input_handler = input;
	irq_register(VEC_SERIAL, serial_irq);
	if (ioapic_route_isa(COM1_IRQ, VEC_SERIAL, cpus[0].apic_id) < 0)
		pr_warn("serial: no IOAPIC has the interrupt: the console takes no input\n");
	outb(UART_IER, IER_RECEIVE);
}
