/*
 * slab.h - kmalloc: small kernel objects in power-of-two classes, a page per slab.
 *
 * Larger than KMALLOC_MAX: use kpage_alloc. Objects come zeroed.
 */
#pragma once

#include "kernel/types.h"

#define KMALLOC_MAX 2048

/* Boot only, before the first kzalloc. */
void slab_init(void);

/* NULL when memory is short. Context: may sleep (or boot). */
void *kzalloc(size_t size);
/*
 * ptr may be NULL. A pointer that kzalloc did not return panics. Any context without inner locks.
 */
void kfree(void *ptr);
