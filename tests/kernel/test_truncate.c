/*
 * test_truncate.c - a file is cut while one of its pages is on its way: to the pager, the test
 * holding the page's lock as reclaim does, or to a private copy.
 */
#include "arch/layout.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/errno.h"
#include "kernel/sched.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "tests/kernel/beside.h"
#include "tests/kernel/ktest.h"

#define NR_PAGES 4

static struct vm_object *object;
static struct page *page; /* the last one */
static u64 address;       /* where it is mapped */

static void begin_file(u32 flags)
{
	begin_space();
	object = object_create(OBJECT_PAGED, NULL, 0, NR_PAGES * PAGE_SIZE);
	page = alloc_pages(0, GFP_KERNEL | GFP_ZERO);
	page_set(page, PG_uptodate);
	KT_EXPECT(page_cache_add(object, NR_PAGES - 1, page) == 0);
	address = (u64)mm_map(space, 0, NR_PAGES * PAGE_SIZE,
			      VMA_READ | VMA_WRITE | VMA_MAYWRITE | flags, object, 0, NULL, false) +
		  (NR_PAGES - 1) * PAGE_SIZE;
}

/* The page is mapped, holds a 7 in its first word, and its lock holder waits for the pager. */
static void begin_io(void)
{
	begin_file(VMA_SHARED);
	KT_EXPECT(put_user_u32(address, 7) == 0);
	lock_page(page);
	page_begin_io(page);
}

static void end_io(void)
{
	page_clear(page, PG_io);
	page_trim(page);
	unlock_page(page);
}

static void end_file(void)
{
	end_space();
	put_page(page);
	object_put(object);
}

KTEST(a_page_past_the_end_is_unmapped_when_its_io_is_done)
{
	u32 value;

	begin_io();
	object_resize(object, PAGE_SIZE);
	end_io();
	KT_EXPECT(!page->object, "the page is cached past the end");
	KT_EXPECT(get_user(&value, address) == -EFAULT, "the page is mapped past the end");
	end_file();
}

KTEST(a_page_on_its_way_out_brings_nothing_back)
{
	u32 value;

	begin_io();
	object_resize(object, PAGE_SIZE);
	object_resize(object, NR_PAGES * PAGE_SIZE);
	value = *(u32 *)phys_to_virt(page_to_phys(page));
	KT_EXPECT(value == 0, "the page-out, if it is served now, brings %u", value);
	KT_EXPECT(!page_is_current(page), "who reads the file now gets it");
	end_io();
	KT_EXPECT(!page->object, "it is not the file's any more, though the file is long again");
	end_file();
}

/* Cut in the middle of the page, while it is read in: what the pager has sent is cut as well. */
KTEST(a_page_is_trimmed_when_its_io_is_done)
{
	u64 end = (NR_PAGES - 1) * PAGE_SIZE + 2;
	u32 value = 1;

	begin_io();
	KT_EXPECT(put_user_u32(address, 0x01020304) == 0);
	object_resize(object, end);
	KT_EXPECT(put_user_u32(address, 0x01020304) == 0); /* as if the answer came now */
	end_io();
	KT_EXPECT(get_user(&value, address) == 0 && value == 0x0304, "it holds %x", value);
	KT_EXPECT(put_user_u32(address, 0x01020304) == 0); /* a mapping may store past the end */
	object_resize(object, end + 1);
	KT_EXPECT(get_user(&value, address) == 0 && value == 0x0304, "it holds %x", value);
	end_file();
}

static void write_beside(void *unused)
{
	(void)unused;
	if (put_user_u32(address, 9) != -EFAULT)
		atomic_inc(&wrong);
	end_beside();
}

/* A write takes a private copy, and waits for the old page's flush. Meanwhile the file is cut. */
KTEST(a_copy_is_not_mapped_past_the_end)
{
	u32 value;

	if (cpus_online() < 3)
		return;
	begin_file(0);
	object_make_writable(object);
	KT_EXPECT(get_user(&value, address) == 0);
	start_on(other_cpu(1), take_no_interrupts, 0, space);
	KT_WAIT_FOR(READ_ONCE(ended) == 1);
	start_on(other_cpu(0), write_beside, 0, space);
	KT_WAIT_FOR(waits_for(other_cpu(0), other_cpu(1)) || READ_ONCE(ended) > 1);
	object_resize(object, PAGE_SIZE);
	WRITE_ONCE(phase, 1);
	while (READ_ONCE(ended) < 3)
		stay_awake();
	KT_EXPECT(wrong == 0, "the write went to a copy past the end");
	KT_EXPECT(get_user(&value, address) == -EFAULT, "a copy is mapped past the end");
	end_file();
}
