/*
 * acpi_memory.h - physical memory that a test writes ACPI tables into, and the parser reads them
 * from. Each test has its own; it includes cmocka.h and what that wants before.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "drivers/acpi_parse.h"

#define BASE   0xe0000UL /* physical address of memory[0] */
#define HEADER 36
#define MEMORY 0x4000

static u8 memory[MEMORY];
static struct acpi_info info; /* what acpi_read found */
static void *copies[4096];
static unsigned nr_copies;

/* Of exactly what was asked for, so that the sanitizer sees reads past it. Freed at the end. */
static const void *copy_of(const u8 *from, size_t len)
{
	void *copy = malloc(len ? len : 1);

	assert_true(nr_copies < ARRAY_SIZE(copies));
	copies[nr_copies++] = copy;
	return memcpy(copy, from, len);
}

static const void *map(u64 phys, size_t len)
{
	if (phys < BASE || phys - BASE > MEMORY || len > MEMORY - (phys - BASE))
		return NULL;
	return copy_of(memory + (phys - BASE), len);
}

static int acpi_read(const u8 *rsdp, size_t len)
{
	int result = acpi_parse((struct bytes){copy_of(rsdp, len), len}, map, &info);

	while (nr_copies)
		free(copies[--nr_copies]);
	return result;
}

static void fix_checksum(u8 *p, size_t len, size_t at)
{
	u8 sum = 0;

	p[at] = 0;
	for (size_t i = 0; i < len; i++)
		sum += p[i];
	p[at] = (u8)-sum;
}
