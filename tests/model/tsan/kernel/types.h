/*
 * types.h - the kernel's, with READ_ONCE and WRITE_ONCE as the language's relaxed atomics: the same
 * instructions, but the sanitizer knows that they are meant to race, and that they order nothing.
 */
#pragma once

#include_next "kernel/types.h"

#undef READ_ONCE
#undef WRITE_ONCE
#define READ_ONCE(x)     __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)
