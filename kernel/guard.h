/*
 * guard.h - what ends with its block: a lock, a reference; given back on every way out of it.
 *
 * `spin_guard(&lock)` (lock.h) and `mutex_guard(&lock)` (mutex.h) hold a lock from there to the end
 * of the block. A variable declared __cleanup(fn) has fn(&variable) called there. What a return
 * statement computes is computed before. (Linux: guard() and __free() in linux/cleanup.h.)
 */
#pragma once

#define __cleanup(fn) __attribute__((cleanup(fn), unused))

#define __GUARD_PASTE(line) __guard_##line
#define __GUARD_NAME(line)  __GUARD_PASTE(line)

/* A guard of that type: take(what) now, give_back(&the guard) at the end of the block. */
#define GUARD(type, take, give_back, what)                                                         \
	type __GUARD_NAME(__LINE__) __cleanup(give_back) = take(what)
