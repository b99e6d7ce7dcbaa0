/*
 * io.h - port I/O and device-register access.
 *
 * Device registers are read and written by volatile accesses of the register's own width.
 */
#ifndef GATHER_ARCH_IO_H
#define GATHER_ARCH_IO_H

#include "kernel/types.h"

static inline void outb(u16 port, u8 value)
{
	__asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port) : "memory");
}

static inline void outw(u16 port, u16 value)
{
	__asm__ volatile("outw %0, %1" ::"a"(value), "Nd"(port) : "memory");
}

static inline void outl(u16 port, u32 value)
{
	__asm__ volatile("outl %0, %1" ::"a"(value), "Nd"(port) : "memory");
}

static inline u8 inb(u16 port)
{
	u8 value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

static inline u16 inw(u16 port)
{
	u16 value;

	__asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

static inline u32 inl(u16 port)
{
	u32 value;

	__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

static inline u32 mmio_read32(const volatile void *reg)
{
	return *(const volatile u32 *)reg;
}

static inline void mmio_write32(volatile void *reg, u32 value)
{
	*(volatile u32 *)reg = value;
}

#endif
