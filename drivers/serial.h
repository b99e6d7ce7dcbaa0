/*
 * serial.h - COM1, the console: 115200 baud, 8N1.
 *
 * Output is polled and has no lock of its own: kernel/log.c serialises it. Input comes by
 * interrupt.
 */
#pragma once

#include "kernel/types.h"

/* Programs the UART. Earliest boot. */
void serial_init(void);

/* Writes one byte; waits for room, but not for ever: a dead port must not stop the kernel. */
void serial_putc(char c);

/*
 * Routes the receive interrupt to the boot CPU; input is called for each byte, in interrupt
 * context. Needs ioapic_init. Without an IOAPIC input for it: warns, and no input comes.
 */
void serial_enable_irq(void (*input)(u8 byte));
