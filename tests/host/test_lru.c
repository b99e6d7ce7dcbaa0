// sources: mm/lru.c tests/host/shim.c tests/host/shim_cpu.c
/* The LRU lists: order, counts, pages that are about to be freed, and reference counts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mm/lru.h"
#include "mm/page_alloc.h"
#include "shim.h"
#include "shim_cpu.h"

static struct list_head isolated;
static unsigned pages_put;

void put_page(struct page *page)
{
	assert_true(page->refcount > 0);
	page->refcount--;
	pages_put++;
}

static int start(void **state)
{
	(void)state;
	host_reset_cpus(NULL);
	for (u64 pfn = 0; pfn < HOST_FRAMES; pfn++)
		lru_del_page(&mem_map[pfn]); /* of the test before */
	host_reset();
	for (u64 pfn = 0; pfn < HOST_FRAMES; pfn++) {
		list_init(&mem_map[pfn].lru);
		mem_map[pfn].refcount = 1;
	}
	lru_init();
	list_init(&isolated);
	pages_put = 0;
	return 0;
}

static void add(u64 first, u64 last, u32 flags)
{
	for (u64 pfn = first; pfn < last; pfn++) {
		page_set(&mem_map[pfn], flags);
		lru_add_page(&mem_map[pfn]);
	}
}

static unsigned length(const struct list_head *list)
{
	unsigned n = 0;

	for (const struct list_head *node = list->next; node != list; node = node->next)
		n++;
	return n;
}

static void flags_choose_the_list(void **state)
{
	(void)state;
	add(0, 1, 0);
	add(10, 12, PG_active);
	add(20, 23, PG_anon);
	add(30, 34, PG_anon | PG_active);
	assert_int_equal(lru_nr(LRU_INACTIVE_FILE), 1);
	assert_int_equal(lru_nr(LRU_ACTIVE_FILE), 2);
	assert_int_equal(lru_nr(LRU_INACTIVE_ANON), 3);
	assert_int_equal(lru_nr(LRU_ACTIVE_ANON), 4);
	assert_int_equal(host_locks_held, 0);
}

static void unevictable_pages_have_a_list_and_reserved_ones_none(void **state)
{
	(void)state;
	add(0, 1, PG_unevictable);
	add(1, 2, PG_reserved);
	assert_int_equal(lru_nr(LRU_INACTIVE_FILE), 0);
	assert_int_equal(lru_nr(LRU_UNEVICTABLE), 1);
	assert_false(page_test(&mem_map[1], PG_lru));
}

static void adding_twice_counts_once(void **state)
{
	(void)state;
	add(5, 6, 0);
	add(5, 6, 0);
	assert_int_equal(lru_nr(LRU_INACTIVE_FILE), 1);
	lru_del_page(&mem_map[5]);
	lru_del_page(&mem_map[5]);
	assert_int_equal(lru_nr(LRU_INACTIVE_FILE), 0);
	assert_true(list_empty(&mem_map[5].lru));
}

static void the_oldest_are_taken_first(void **state)
{
	u64 pfn = 0;

	(void)state;
	add(0, 40, 0);
	assert_int_equal(lru_isolate(LRU_INACTIVE_FILE, 32, &isolated), 32);
	assert_int_equal(lru_nr(LRU_INACTIVE_FILE), 8);
	for (struct list_head *node = isolated.next; node != &isolated; node = node->next) {
		struct page *page = list_entry(node, struct page, lru);

		assert_int_equal(page_to_pfn(page), pfn++);
		assert_int_equal(page->refcount, 2);
		assert_false(page_test(page, PG_lru));
	}
	assert_int_equal(lru_isolate(LRU_INACTIVE_FILE, 32, &isolated), 8);
	assert_int_equal(lru_isolate(LRU_INACTIVE_FILE, 32, &isolated), 0);
	assert_int_equal(length(&isolated), 40);
	assert_int_equal(host_locks_held, 0);
}

/* Their last user is in put_page, before lru_del_page: to revive them would free them twice. */
static void pages_without_references_are_left(void **state)
{
	(void)state;
	add(0, 10, 0);
	for (u64 pfn = 0; pfn < 10; pfn += 2)
		mem_map[pfn].refcount = 0;
	assert_int_equal(lru_isolate(LRU_INACTIVE_FILE, 32, &isolated), 5);
	assert_int_equal(lru_nr(LRU_INACTIVE_FILE), 5);
	for (u64 pfn = 0; pfn < 10; pfn += 2) {
		assert_int_equal(mem_map[pfn].refcount, 0);
		assert_true(page_test(&mem_map[pfn], PG_lru));
		lru_del_page(&mem_map[pfn]);
	}
	assert_int_equal(lru_nr(LRU_INACTIVE_FILE), 0);
}

static void putback_goes_where_the_flags_say_and_drops_the_reference(void **state)
{
	(void)state;
	add(0, 6, 0);
	lru_isolate(LRU_INACTIVE_FILE, 6, &isolated);
	page_set(&mem_map[3], PG_active);
	page_set(&mem_map[4], PG_unevictable);
	lru_putback(&isolated);
	assert_true(list_empty(&isolated));
	assert_int_equal(pages_put, 6);
	assert_int_equal(lru_nr(LRU_INACTIVE_FILE), 4);
	assert_int_equal(lru_nr(LRU_ACTIVE_FILE), 1);
	for (u64 pfn = 0; pfn < 6; pfn++)
		assert_int_equal(mem_map[pfn].refcount, 1);
}

static u64 total(void)
{
	u64 sum = 0;

	for (int list = 0; list < NR_LRU; list++)
		sum += lru_nr((enum lru_list)list);
	return sum;
}

static void nothing_is_lost_in_random_use(void **state)
{
	u64 seed = 4242, on_lists = 0;

	(void)state;
	for (int step = 0; step < 20000; step++) {
		u64 r = host_random(&seed);
		struct page *page = &mem_map[(r >> 16) % HOST_FRAMES];
		bool on = page_test(page, PG_lru);

		if (r % 8 < 4 && !on) {
			page_clear(page, PG_active | PG_anon);
			page_set(page, (r >> 40) & 1 ? PG_active : PG_anon);
			lru_add_page(page);
			on_lists++;
		} else if (r % 8 < 6) {
			lru_del_page(page);
			on_lists -= on;
		} else {
			lru_isolate((enum lru_list)((r >> 40) % NR_LRU), (r >> 44) % 64, &isolated);
			lru_putback(&isolated);
		}
		assert_int_equal(total(), on_lists);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(flags_choose_the_list, start),
		cmocka_unit_test_setup(unevictable_pages_have_a_list_and_reserved_ones_none, start),
		cmocka_unit_test_setup(adding_twice_counts_once, start),
		cmocka_unit_test_setup(the_oldest_are_taken_first, start),
		cmocka_unit_test_setup(pages_without_references_are_left, start),
		cmocka_unit_test_setup(putback_goes_where_the_flags_say_and_drops_the_reference, start),
		cmocka_unit_test_setup(nothing_is_lost_in_random_use, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
