// sources: kernel/elf.c kernel/lib.c kernel/printf.c tests/host/shim.c
/*
 * The ELF reader: a good file, every field made wrong in turn, cut at every length, random damage.
 */
#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/elf.h"
#include "shim.h"

#define LOW       0x400000UL
#define HIGH      0x7ffffffff000UL
#define FILE_SIZE 0x5000UL
#define HEAD      (sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr))

static struct {
	Elf64_Ehdr h;
	Elf64_Phdr p[4];
} file;
static struct elf_info info;

static void segment(unsigned i, u64 offset, u64 vaddr, u64 filesz, u64 memsz, u32 flags)
{
	file.p[i] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = flags, .p_offset = offset,
				 .p_vaddr = vaddr, .p_filesz = filesz, .p_memsz = memsz,
				 .p_align = PAGE_SIZE};
}

static int good(void **state)
{
	(void)state;
	memset(&file, 0, sizeof(file));
	memcpy(file.h.e_ident, ELFMAG, SELFMAG);
	file.h.e_ident[EI_CLASS] = ELFCLASS64;
	file.h.e_ident[EI_DATA] = ELFDATA2LSB;
	file.h.e_ident[EI_VERSION] = EV_CURRENT;
	file.h.e_type = ET_EXEC;
	file.h.e_machine = EM_X86_64;
	file.h.e_version = EV_CURRENT;
	file.h.e_entry = 0x401010;
	file.h.e_phoff = sizeof(Elf64_Ehdr);
	file.h.e_phentsize = sizeof(Elf64_Phdr);
	file.h.e_phnum = 4;
	segment(0, 0, 0x400000, 0x200, 0x200, PF_R);
	segment(1, 0x1000, 0x401000, 0x1800, 0x1800, PF_R | PF_X);
	segment(2, 0x2ff0, 0x403ff0, 0x100, 0x3000, PF_R | PF_W);
	file.p[3].p_type = PT_GNU_STACK;
	return 0;
}

/* From a buffer of exactly that size: the sanitizer sees any read past it. */
static const char *parse(size_t len)
{
	void *copy = malloc(len ? len : 1);
	const char *wrong;

	memcpy(copy, &file, len);
	wrong = elf_parse(copy, len, FILE_SIZE, LOW, HIGH, &info);
	free(copy);
	return wrong;
}

static void reads_a_static_executable(void **state)
{
	(void)state;
	assert_null(parse(HEAD));
	assert_int_equal(info.entry, 0x401010);
	assert_int_equal(info.nr_segments, 3);
	assert_int_equal(info.segments[0].prot, 1);
	assert_int_equal(info.segments[1].prot, 5);
	assert_int_equal(info.segments[2].prot, 3);
	assert_int_equal(info.segments[2].vaddr, 0x403ff0);
	assert_int_equal(info.segments[2].memsz, 0x3000);
	assert_int_equal(info.end, 0x407000);
	assert_int_equal(info.phdr_vaddr, 0x400000 + sizeof(Elf64_Ehdr));
	assert_int_equal(info.phnum, 4);
}

static void cut_anywhere_is_an_error(void **state)
{
	(void)state;
	for (size_t len = 0; len < HEAD; len++)
		assert_non_null(parse(len));
}

#define WRONG(statement, words)                                                                    \
	do {                                                                                       \
		const char *message;                                                               \
		good(NULL);                                                                        \
		statement;                                                                         \
		message = parse(HEAD);                                                             \
		if (!message || !strstr(message, words))                                           \
			fail_msg("%s: %s", #statement, message ? message : "accepted");            \
	} while (0)

static void wrong_headers_are_named(void **state)
{
	(void)state;
	for (int i = 0; i < 7; i++)
		WRONG(file.h.e_ident[i] ^= 0x40, "ELF64");
	WRONG(file.h.e_machine = EM_AARCH64, "x86-64");
	WRONG(file.h.e_type = ET_DYN, "static");
	WRONG(file.h.e_type = ET_REL, "static");
	WRONG(file.h.e_phentsize = 32, "program headers");
	WRONG(file.h.e_phnum = 0, "program headers");
	WRONG(file.h.e_phnum = 0xffff, "program headers");
	WRONG(file.h.e_phoff = HEAD, "program headers");
	WRONG(file.h.e_phoff = ~0UL, "program headers");
	WRONG(file.h.e_phoff = ~0UL - 100, "program headers");
	WRONG(file.h.e_entry = 0, "entry");
	WRONG(file.h.e_entry = 0x403ff0, "entry");
	WRONG(file.h.e_entry = 0x401000 + 0x1800, "entry");
	WRONG(file.p[3].p_type = PT_INTERP, "dynamically");
}

static void wrong_segments_are_named(void **state)
{
	(void)state;
	WRONG(file.p[1].p_filesz = 0x1801, "larger");
	WRONG(file.p[2].p_offset = FILE_SIZE + 0xff0, "past the end");
	WRONG((file.p[2].p_filesz = file.p[2].p_memsz = FILE_SIZE), "past the end");
	WRONG((file.p[2].p_filesz = file.p[2].p_memsz = ~0UL), "past the end");
	WRONG(file.p[2].p_offset = ~0UL - 0xf, "past the end");
	WRONG(file.p[2].p_memsz = ~0UL, "user's addresses");
	WRONG(file.p[2].p_vaddr = 0xffffffff80200ff0, "user's addresses");
	WRONG(file.p[0].p_vaddr = 0, "user's addresses");
	WRONG(file.p[2].p_vaddr = HIGH - 0x10, "user's addresses");
	WRONG(file.p[2].p_vaddr += 1, "disagree");
	WRONG(file.p[2].p_vaddr = 0x402ff0, "overlap");
	WRONG(file.p[0].p_memsz = 0x2000, "overlap");
	WRONG((file.p[0].p_vaddr = 0x500000), "overlap");
	WRONG(file.p[2].p_flags |= PF_X, "writable and executable");
	WRONG((file.h.e_phnum = 0), "program headers");
	WRONG((memset(file.p, 0, sizeof(file.p))), "entry");
}

static void too_many_segments(void **state)
{
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr p[ELF_MAX_SEGMENTS + 1];
	} many = {.h = file.h};

	(void)state;
	many.h.e_phnum = ELF_MAX_SEGMENTS + 1;
	for (unsigned i = 0; i <= ELF_MAX_SEGMENTS; i++) {
		segment(0, 0, LOW + i * 0x1000, 0x100, 0x100, PF_R | PF_X);
		many.p[i] = file.p[0];
	}
	assert_non_null(elf_parse(&many, sizeof(many), FILE_SIZE, LOW, HIGH, &info));
	many.h.e_phnum--;
	assert_null(elf_parse(&many, sizeof(many), FILE_SIZE, LOW, HIGH, &info));
}

/* What an accepted file promises to the loader, whatever its bytes are. */
static void check_promises(void)
{
	u64 end = LOW;

	assert_true(info.nr_segments >= 1 && info.nr_segments <= ELF_MAX_SEGMENTS);
	for (u32 i = 0; i < info.nr_segments; i++) {
		const struct elf_segment *s = &info.segments[i];

		assert_true(s->vaddr >= end && s->memsz <= HIGH - s->vaddr);
		assert_true(s->filesz <= s->memsz && s->filesz <= FILE_SIZE - s->offset);
		assert_true(s->offset <= FILE_SIZE && (s->vaddr ^ s->offset) % PAGE_SIZE == 0);
		assert_false((s->prot & 6) == 6);
		end = ALIGN_UP(s->vaddr + s->memsz, PAGE_SIZE);
	}
	assert_int_equal(info.end, end);
}

static void random_damage_does_no_harm(void **state)
{
	u64 seed = 1234, accepted = 0;

	for (int round = 0; round < 50000; round++) {
		good(state);
		for (u64 n = 1 + host_random(&seed) % 3; n > 0; n--) {
			u64 r = host_random(&seed);

			((u8 *)&file)[(r >> 8) % HEAD] ^= (u8)(1 << (r & 7));
		}
		if (!parse(HEAD)) {
			accepted++;
			check_promises();
		}
	}
	assert_true(accepted > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reads_a_static_executable, good),
		cmocka_unit_test_setup(cut_anywhere_is_an_error, good),
		cmocka_unit_test_setup(wrong_headers_are_named, good),
		cmocka_unit_test_setup(wrong_segments_are_named, good),
		cmocka_unit_test_setup(too_many_segments, good),
		cmocka_unit_test_setup(random_damage_does_no_harm, good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
