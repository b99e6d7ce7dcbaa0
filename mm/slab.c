/* slab.c - kmalloc size classes (see slab.h). */
#include "mm/slab.h"
#include "arch/layout.h"
#include "kernel/lib.h"
#include "kernel/lock.h"
#include "mm/fail.h"
#include "mm/page_alloc.h"

#define MIN_SHIFT  5 /* 32 bytes */
#define NR_CLASSES 7 /* ... 2048 bytes */

#define OBJECT_SIZE(index) (1ul << (MIN_SHIFT + (index)))

/* The first word of a free object links to the next one; page->hash_next starts the chain. */
struct free_object {
	struct free_object *next;
};

struct slab_class {
	spinlock_t lock;
	struct list_head partial; /* slabs with free objects, by page->lru */
};

static const struct lock_class slab_lock_class = {"slab", RANK_SLAB, false};
static struct slab_class classes[NR_CLASSES];

void slab_init(void)
{
	unsigned i;

	for (i = 0; i < NR_CLASSES; i++) {
		spin_init(&classes[i].lock, &slab_lock_class);
		list_init(&classes[i].partial);
	}
}

static unsigned class_for(size_t size)
{
	unsigned i = 0;

	while (OBJECT_SIZE(i) < size)
		i++;
	ASSERT(i < NR_CLASSES, "kzalloc of %lu bytes: use kpage_alloc", size);
	return i;
}

static struct page *new_slab(unsigned index)
{
	struct page *page = alloc_pages(0, GFP_KERNEL);
	size_t size = OBJECT_SIZE(index), at;
	struct free_object *chain = NULL, *object;
	u8 *base;

	if (!page)
		return NULL;
	base = phys_to_virt(page_to_phys(page));
	for (at = PAGE_SIZE; at >= size; at -= size) {
		object = (struct free_object *)(base + at - size);
		object->next = chain;
		chain = object;
	}
	page_set(page, PG_slab);
	page->order = (u16)index;
	page->inuse = 0;
	page->hash_next = (struct page *)chain;
	return page;
}

static void *take_object(struct slab_class *class)
{
	struct free_object *object;
	struct page *page;

	if (list_empty(&class->partial))
		return NULL;
	page = list_first(&class->partial, struct page, lru);
	object = (struct free_object *)page->hash_next;
	page->hash_next = (struct page *)object->next;
	page->inuse++;
	if (!object->next)
		list_del(&page->lru);
	return object;
}

void *kzalloc(size_t size)
{
	unsigned index = class_for(size);
	struct slab_class *class = &classes[index];
	struct page *fresh = NULL;
	void *object;

	if (unlikely(should_fail()))
		return NULL;
	for (;;) {
		spin_lock(&class->lock);
		if (fresh)
			list_add(&fresh->lru, &class->partial);
		object = take_object(class);
		spin_unlock(&class->lock);
		if (object)
			return memset(object, 0, OBJECT_SIZE(index));
		fresh = new_slab(index);
		if (!fresh)
			return NULL;
	}
}

void kfree(void *ptr)
{
	struct free_object *object = ptr;
	struct slab_class *class;
	struct page *page;
	bool empty;

	if (!ptr)
		return;
	page = pfn_to_page(virt_to_phys(ptr) >> PAGE_SHIFT);
	ASSERT(page_test(page, PG_slab), "kfree of %p, which kzalloc did not return", ptr);
	class = &classes[page->order];
	memset(object, (u8)PAGE_POISON, OBJECT_SIZE(page->order)); /* who still reads it shall notice */
	spin_lock(&class->lock);
	if (!page->hash_next)
		list_add(&page->lru, &class->partial);
	object->next = (struct free_object *)page->hash_next;
	page->hash_next = (struct page *)object;
	empty = --page->inuse == 0;
	if (empty)
		list_del(&page->lru);
	spin_unlock(&class->lock);
	if (!empty)
		return;
	page_clear(page, PG_slab);
	free_pages(page, 0);
}
