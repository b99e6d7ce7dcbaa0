/*
 * vmalloc.h - kernel memory that is contiguous in addresses only, and other people's pages mapped
 * in a row. Areas are given out at the lowest address that fits (vmap_tree.h), each with an
 * unmapped guard page behind it.
 *
 *   vmalloc       vfree: PTEs cleared,                purge: list taken -> one flush -> addresses
 *   busy -------> area on a lazy list ---------------------------------------------> free again
 *                 vmap_lazy_nr += pages               vmap_lazy_nr -= pages, area by area
 *
 * Nothing is flushed when an area is freed. Until a purge has flushed, CPUs may still translate its
 * addresses, so they are not given out; that is harmless, since nobody uses what he has freed. The
 * number of lazy pages beyond which whoever frees also purges is lazy_max_pages. How a purge goes
 * on is the policy's (`purge=`, vmap_purge.c).
 *
 * The frames behind an area that vmalloc made: `vmap_frames=held` keeps them until the flush, so
 * that nobody can come upon another's memory through a pointer that he kept; up to lazy_max_pages
 * frames wait. `vmap_frames=early` frees them at once, as Linux does: no frame waits, and a use
 * after free in the kernel reads and writes somebody else's page as long as some TLB has the entry.
 * The sanitizer asks rule 1 of held frames; of early ones it only asks that addresses are flushed
 * before they are given out (rule 10).
 */
#pragma once

#include "kernel/types.h"

struct page;

/* Boot only: kmalloc works. Late: threads run, all CPUs are online; reads the command line. */
void vmalloc_init(void);
void vmalloc_late_init(void);

/*
 * Memory of at least size bytes, at a page boundary or at a multiple of align (a power of two);
 * NULL when size is 0, there are not so many frames or not so many addresses in a row. Nothing is
 * left behind then. vzalloc: zeroed. Context: may sleep.
 */
void *vmalloc(size_t size);
void *vzalloc(size_t size);
void *vmalloc_align(size_t size, size_t align);
/*
 * Give it back; addr may be NULL. Context: any without a lock of rank RANK_WAIT or above; where the
 * caller may not sleep, in interrupt handlers too, a kernel thread does it a little later.
 */
void vfree(void *addr);

/* Map `count` pages of the caller's in a row, writable; NULL as vmalloc. Context: may sleep. */
void *vmap(struct page **pages, unsigned count);
/*
 * The pages stay the caller's. Until vm_unmap_aliases they may still be translated to: before they
 * become somebody else's, who must not be disturbed, call it. Context: may sleep.
 */
void vunmap(void *addr);

/* The frame behind an address of vmalloc or vmap that is mapped; NULL: it is not. */
struct page *vmalloc_to_page(const void *addr);

/*
 * The same as vmap for at most VMAP_MAX_ALLOC pages and a short time: from a block of addresses
 * that is this CPU's own, without the common lock and without a guard page. Context: may sleep.
 */
#define VMAP_MAX_ALLOC   32
#define VMAP_BLOCK_PAGES 256 /* of a block */
void *vm_map_ram(struct page **pages, unsigned count);
void vm_unmap_ram(void *addr, unsigned count);

/*
 * On return no CPU in the kernel, and none that comes in, can translate an address that was unmapped
 * before the call, by whichever of the functions above. (`refcount` does not keep this: vmap_purge.c.) Context: may sleep.
 */
void vm_unmap_aliases(void);

/* For the allocator when memory is short: flush and free what waits. false: nothing waited. */
bool vmap_give_back(void);

/* ---- Purging, to look at and to choose ------------------------------------------------------- */

extern s64 vmap_lazy_nr;      /* pages of areas that wait for a flush, guard pages included */
extern u64 lazy_max_pages;
extern u64 vmap_lazy_peak;    /* the most so far; set it to 0 to begin again */
extern bool vmap_frames_held;

/* What the lists hold; for when nobody frees or purges. */
u64 vmap_lazy_listed(void);
const char *purge_policy_name(void);
/*
 * -EINVAL: no such policy. Purges that are under way end first; what waits is left to the new one.
 * Context: may sleep.
 */
int purge_policy_set(const char *name);

/* ---- Kernel stacks --------------------------------------------------------------------------- */

/* KERNEL_STACK_SIZE bytes with unmapped pages on both sides. Freed ones are kept. */
u64 kernel_stack_alloc(void);
void kernel_stack_free(u64 base);
