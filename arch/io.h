/*
 * io.h - port I/O and device-register access.
 *
 * Device registers are read and written by volatile accesses of the register's own width.
 */
#pragma once

#include "kernel/types.h"

#define DEFINE_OUT(name, type)                                                                     \
	static inline void name(u16 port, type value)                                              \
	{                                                                                          \
		__asm__ volatile(#name " %0, %1" ::"a"(value), "Nd"(port) : "memory");             \
	}
#define DEFINE_IN(name, type)                                                                      \
	static inline type name(u16 port)                                                          \
	{                                                                                          \
		type value;                                                                        \
		__asm__ volatile(#name " %1, %0" : "=a"(value) : "Nd"(port) : "memory");           \
		return value;                                                                      \
	}

DEFINE_OUT(outb, u8)
DEFINE_OUT(outw, u16)
DEFINE_OUT(outl, u32)
DEFINE_IN(inb, u8)
DEFINE_IN(inl, u32)

/*
 * All bytes to one port. An interrupt in between continues behind the last byte that was written.
 */
static inline void outsb(u16 port, const void *buf, size_t len)
{
	__asm__ volatile("rep outsb" : "+S"(buf), "+c"(len) : "d"(port) : "memory");
}

static inline u32 mmio_read32(const volatile void *reg)
{
	return *(const volatile u32 *)reg;
}

static inline void mmio_write32(volatile void *reg, u32 value)
{
	*(volatile u32 *)reg = value;
}
