/*
 * debugcon.h - QEMU's debug console: bytes written to a port end up in a file of the host.
 *
 * `-debugcon file:NAME`. Quicker than the serial port, and apart from it.
 */
#pragma once

#include "kernel/types.h"

/* The device answers reads with its port's number; where there is none they give 0xff. */
bool debugcon_present(void);

/*
 * Writes a whole record: a raw lock, taken with interrupts off, keeps those of other CPUs out of
 * it. `rep outsb` alone would not: the emulator may run another CPU between any two bytes. Any
 * context but NMI. Once some CPU panics nothing is written: the lock's holder may have been
 * stopped, so at most the file's last record is cut.
 */
void debugcon_write(const void *record, size_t bytes);
