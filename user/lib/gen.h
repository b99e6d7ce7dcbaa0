/*
 * gen.h - the contents of generated files (/gen/<MiB>): a function of page and word number.
 *
 *	word(page, i) = (page + 1) * GEN_PAGE_FACTOR  xor  (i + 1) * GEN_WORD_FACTOR
 *
 * Both factors are odd, so that for one i no two pages agree, and for one page no two words do: a
 * page that shows up in another's place is wrong in all its 512 words. A step of the loop is one
 * addition and one exclusive or, which keeps it cheap under emulation.
 *
 * File number n of a size (/gen/<MiB>.<n>) starts at page gen_first_page(n), so that pages of
 * different files of one size differ as well.
 */
#ifndef USER_LIB_GEN_H
#define USER_LIB_GEN_H

#include <stdint.h>

#define GEN_PAGE_SIZE   4096
#define GEN_WORDS       (GEN_PAGE_SIZE / sizeof(uint64_t))
#define GEN_PAGE_FACTOR 0x9e3779b97f4a7c15ULL
#define GEN_WORD_FACTOR 0xc2b2ae3d27d4eb4fULL

#define GEN_PAGES_PER_MIB 256
#define GEN_MAX_MIB       (1 << 20)
#define GEN_MAX_FILES     4096

static inline uint64_t gen_word(uint64_t page, uint64_t i)
{
	return (page + 1) * GEN_PAGE_FACTOR ^ (i + 1) * GEN_WORD_FACTOR;
}

static inline uint64_t gen_first_page(unsigned int file)
{
	return (uint64_t)file << 32;
}

static inline void gen_fill(void *buffer, uint64_t page)
{
	uint64_t *word = buffer, base = (page + 1) * GEN_PAGE_FACTOR, step = 0;

	for (unsigned int i = 0; i < GEN_WORDS; i++)
		word[i] = base ^ (step += GEN_WORD_FACTOR);
}

/* 0 when all words of the page are right: differences are gathered, so one branch decides. */
static inline uint64_t gen_mismatch(const void *buffer, uint64_t page)
{
	const uint64_t *word = buffer;
	uint64_t base = (page + 1) * GEN_PAGE_FACTOR, step = 0, wrong = 0;

	for (unsigned int i = 0; i < GEN_WORDS; i++)
		wrong |= word[i] ^ base ^ (step += GEN_WORD_FACTOR);
	return wrong;
}

#endif
