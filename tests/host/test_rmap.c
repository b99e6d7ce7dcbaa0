// sources: mm/rmap.c tests/host/shim.c tests/host/shim_cpu.c
// flags: -DGATHER_RELEASE
/*
 * From a page to its PTEs: shared files, anonymous memory, locked VMAs, and what is left to flush.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/paging.h"
#include "kernel/errno.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/rmap.h"
#include "mm/tlb.h"
#include "shim.h"
#include "shim_cpu.h"

#define SPACES 4
#define PAGES  16
#define BASE   0x10000000UL
#define FRAME  100

/* An address space of 16 pages; its "page tables" are one array. */
static struct mm mms[SPACES];
static struct vm_area vmas[SPACES];
static pte_t ptes[SPACES][PAGES];
static struct vm_object object;
static struct page *page;
static unsigned pages_put;

pte_t *pte_lookup(u64 *pml4, u64 va)
{
	assert_true(va >= BASE && va < BASE + PAGES * PAGE_SIZE);
	return (pte_t *)pml4 + (va - BASE) / PAGE_SIZE;
}

/* The rights of the area's flags, as mmap.c computes them. */
u64 vma_pte_bits(const struct vm_area *vma, bool writable)
{
	return PTE_P | PTE_A | PTE_U | (writable && (vma->flags & VMA_WRITE) ? PTE_W : 0);
}

void put_page(struct page *p)
{
	assert_true(p->refcount > 0);
	p->refcount--;
	pages_put++;
}

void tlb_gen_inc_batched(struct mm *mm, u64 va, u64 old)
{
	(void)va;
	(void)old;
	assert_int_equal(mm->ptl.owner, 1); /* the ptl is held */
	mm->tlb_gen++;
	mm->tlb_batched_pending++;
}

static void add_space(unsigned i, u64 pgoff)
{
	struct vm_area *vma = &vmas[i];

	mms[i] = (struct mm){.pml4 = (u64 *)ptes[i], .cpumask = CPU_BIT(i)};
	*vma = (struct vm_area){.mm = &mms[i], .start = BASE, .end = BASE + PAGES * PAGE_SIZE,
				.flags = VMA_READ | VMA_WRITE | VMA_SHARED, .object = &object,
				.pgoff = pgoff, .anon_pgoff = pgoff};
	list_add_tail(object.kind == OBJECT_ANON ? &vma->anon_node : &vma->object_node,
		      &object.mappings);
}

static void map(unsigned space, unsigned slot, u64 bits)
{
	ptes[space][slot] = make_pte(FRAME, PTE_P | PTE_U | bits);
	page_add_rmap(page);
}

static void begin(enum object_kind kind, u64 index)
{
	host_reset();
	host_reset_cpus(NULL);
	memset(ptes, 0, sizeof(ptes));
	memset(&object, 0, sizeof(object));
	object.kind = kind;
	list_init(&object.mappings);
	page = &mem_map[FRAME];
	page->object = &object;
	page->index = index;
	page->refcount = 1;
	page_set(page, PG_locked);
	pages_put = 0;
}

static int start(void **state)
{
	(void)state;
	begin(OBJECT_PAGED, 5);
	for (unsigned i = 0; i < SPACES; i++)
		add_space(i, i); /* page 5 of the file is slot 5 - i of space i */
	return 0;
}

static void every_pte_is_cleared_and_counted(void **state)
{
	struct unmap_result result;

	(void)state;
	for (unsigned i = 0; i < SPACES; i++)
		map(i, 5 - i, PTE_A);
	assert_int_equal(page->mapcount, SPACES);
	try_to_unmap(page, false, &result);
	assert_int_equal(result.ptes, SPACES);
	assert_int_equal(result.cpus, 0xf);
	assert_false(result.dirty || result.pinned);
	assert_int_equal(page->mapcount, 0);
	assert_int_equal(page->refcount, 1);
	for (unsigned i = 0; i < SPACES; i++) {
		assert_int_equal(ptes[i][5 - i], 0);
		assert_int_equal(mms[i].tlb_batched_pending, 1);
	}
	assert_int_equal(host_locks_held, 0);
}

static void only_those_that_map_it_count(void **state)
{
	struct unmap_result result;

	(void)state;
	map(2, 3, 0);
	ptes[1][4] = make_pte(FRAME + 1, PTE_P | PTE_D); /* that slot shows another frame */
	ptes[0][5] = make_pte(FRAME, PTE_D);             /* and this one is not present */
	try_to_unmap(page, false, &result);
	assert_int_equal(result.cpus, CPU_BIT(2));
	assert_int_equal(result.ptes, 1);
	assert_false(result.dirty);
	assert_int_equal(ptes[1][4], make_pte(FRAME + 1, PTE_P | PTE_D));
	assert_int_equal(mms[0].tlb_gen + mms[1].tlb_gen + mms[3].tlb_gen, 0);
}

static void one_dirty_pte_makes_the_page_dirty(void **state)
{
	struct unmap_result result;

	(void)state;
	map(0, 5, 0);
	map(1, 4, PTE_W | PTE_D);
	map(2, 3, PTE_W);
	try_to_unmap(page, false, &result);
	assert_true(result.dirty);
	assert_true(page_test(page, PG_dirty));
}

static void a_locked_vma_pins_the_page(void **state)
{
	struct unmap_result result;

	(void)state;
	vmas[0].flags |= VMA_LOCKED;
	map(0, 5, 0);
	map(1, 4, 0);
	try_to_unmap(page, false, &result);
	assert_true(result.pinned);
	assert_int_equal(result.ptes, 0);
	assert_int_equal(page->mapcount, 2);
	try_to_unmap(page, true, &result); /* truncation takes it all the same */
	assert_int_equal(result.ptes, 2);
	assert_int_equal(page->mapcount, 0);
}

static void a_vma_that_does_not_reach_the_page(void **state)
{
	struct unmap_result result;

	(void)state;
	page->index = 40;
	try_to_unmap(page, false, &result);
	assert_int_equal(result.ptes, 0);
	page->index = 2; /* before the window of space 3 */
	map(0, 2, 0);
	try_to_unmap(page, false, &result);
	assert_int_equal(result.ptes, 1);
}

static void anonymous_pages_go_by_their_own_list(void **state)
{
	struct unmap_result result;

	(void)state;
	begin(OBJECT_ANON, 1000);
	add_space(0, 990);
	add_space(1, 999);
	map(0, 10, PTE_D);
	map(1, 1, 0);
	try_to_unmap(page, false, &result);
	assert_int_equal(result.ptes, 2);
	assert_int_equal(result.cpus, 0x3);
	assert_true(result.dirty);
}

static void accessed_bits_are_counted_and_cleared_without_a_flush(void **state)
{
	bool pinned;

	(void)state;
	map(0, 5, PTE_A | PTE_D);
	map(1, 4, 0);
	map(3, 2, PTE_A);
	assert_int_equal(page_referenced(page, &pinned), 2);
	assert_false(pinned);
	assert_int_equal(ptes[0][5], make_pte(FRAME, PTE_P | PTE_U | PTE_D));
	assert_int_equal(page_referenced(page, &pinned), 0);
	assert_int_equal(mms[0].tlb_gen, 0);
	vmas[1].flags |= VMA_LOCKED;
	page_referenced(page, &pinned);
	assert_true(pinned);
}

static void a_page_without_object_has_no_ptes(void **state)
{
	struct unmap_result result;

	(void)state;
	page->object = NULL;
	try_to_unmap(page, false, &result);
	assert_int_equal(result.ptes, 0);
}

static void an_unlocked_page_is_refused(void **state)
{
	struct unmap_result unused;

	(void)state;
	page_clear(page, PG_locked);
	expect_assert_failure(try_to_unmap(page, false, &unused));
}

/* ---- Migration entries ----------------------------------------------------------------------- */

static struct page *begin_move(struct unmap_result *result)
{
	struct page *now = &mem_map[FRAME + 7];

	map(0, 5, PTE_W | PTE_D | PTE_A);
	map(1, 4, PTE_A);
	mms[0].rss_pages = mms[1].rss_pages = 1;
	try_to_migrate(page, result);
	now->refcount = 1;
	now->object = page->object;
	now->index = page->index;
	page_set(now, PG_locked);
	return now;
}

static void entries_keep_the_place_and_the_right_to_write(void **state)
{
	struct unmap_result result;

	(void)state;
	begin_move(&result);
	assert_int_equal(result.ptes, 2);
	assert_true(result.dirty && page_test(page, PG_dirty));
	assert_int_equal(ptes[0][5], make_pte(FRAME, PTE_MIGRATION | PTE_W));
	assert_int_equal(ptes[1][4], make_pte(FRAME, PTE_MIGRATION));
	assert_int_equal(page->mapcount, 0);
	assert_int_equal(page->refcount, 1);
	assert_int_equal(mms[0].rss_pages + mms[1].rss_pages, 2); /* they still count */
	assert_int_equal(mms[0].tlb_batched_pending, 1);
}

static void entries_become_ptes_of_the_new_frame(void **state)
{
	struct unmap_result result;
	struct page *now;

	(void)state;
	now = begin_move(&result);
	ptes[2][3] = make_pte(FRAME + 1, PTE_MIGRATION); /* another page on the move */
	remove_migration_ptes(page, now);
	assert_int_equal(ptes[0][5], make_pte(FRAME + 7, PTE_P | PTE_A | PTE_U | PTE_W));
	assert_int_equal(ptes[1][4], make_pte(FRAME + 7, PTE_P | PTE_A | PTE_U));
	assert_int_equal(ptes[2][3], make_pte(FRAME + 1, PTE_MIGRATION));
	assert_int_equal(now->mapcount, 2);
	assert_int_equal(now->refcount, 3);
	assert_int_equal(page->mapcount, 0);
}

static void rights_are_those_of_the_area_now(void **state)
{
	struct unmap_result result;
	struct page *now;

	(void)state;
	now = begin_move(&result);
	vmas[0].flags &= ~VMA_WRITE; /* mprotect, meanwhile */
	remove_migration_ptes(page, now);
	assert_int_equal(ptes[0][5], make_pte(FRAME + 7, PTE_P | PTE_A | PTE_U));
}

static void a_page_that_stays_gets_its_ptes_back(void **state)
{
	struct unmap_result result;

	(void)state;
	begin_move(&result);
	ptes[1][4] = 0; /* munmap, meanwhile */
	remove_migration_ptes(page, page);
	assert_int_equal(ptes[0][5], make_pte(FRAME, PTE_P | PTE_A | PTE_U | PTE_W));
	assert_int_equal(ptes[1][4], 0);
	assert_int_equal(page->mapcount, 1);
	assert_int_equal(page->refcount, 2);
}

static void a_locked_vma_does_not_hinder_a_move(void **state)
{
	struct unmap_result result;

	(void)state;
	vmas[0].flags |= VMA_LOCKED;
	begin_move(&result);
	assert_int_equal(result.ptes, 2);
	assert_false(result.pinned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_pte_is_cleared_and_counted, start),
		cmocka_unit_test_setup(only_those_that_map_it_count, start),
		cmocka_unit_test_setup(one_dirty_pte_makes_the_page_dirty, start),
		cmocka_unit_test_setup(a_locked_vma_pins_the_page, start),
		cmocka_unit_test_setup(a_vma_that_does_not_reach_the_page, start),
		cmocka_unit_test_setup(anonymous_pages_go_by_their_own_list, start),
		cmocka_unit_test_setup(accessed_bits_are_counted_and_cleared_without_a_flush, start),
		cmocka_unit_test_setup(a_page_without_object_has_no_ptes, start),
		cmocka_unit_test_setup(an_unlocked_page_is_refused, start),
		cmocka_unit_test_setup(entries_keep_the_place_and_the_right_to_write, start),
		cmocka_unit_test_setup(entries_become_ptes_of_the_new_frame, start),
		cmocka_unit_test_setup(rights_are_those_of_the_area_now, start),
		cmocka_unit_test_setup(a_page_that_stays_gets_its_ptes_back, start),
		cmocka_unit_test_setup(a_locked_vma_does_not_hinder_a_move, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
