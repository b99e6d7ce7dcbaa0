/*
 * hooks.c - what GCC calls before each access of sources compiled with -fsanitize=thread. Plain
 * accesses are made by the code itself when the hook returns; atomic ones are made here.
 */
#include "model.h"

static bool seen_by_others(const void *address, size_t size, bool write)
{
	if (!model_running)
		return false;
	memory_finish_store();
	if (on_own_stack(address))
		return false;
	if (write) {
		model_cpus[model_cpu()].awake = true; /* not spinning, whoever else sees it */
		request_written(address, size);
	}
	return memory_use(address, size, write);
}

static void before_read(void *address, size_t size, void *pc)
{
	if (!seen_by_others(address, size, false))
		return;
	scheduling_point();
	memory_choose_drains(address, size);
	memory_note_read(address);
	trace_access(pc, "read", address, size);
}

static void before_write(void *address, size_t size, void *pc)
{
	if (!seen_by_others(address, size, true))
		return;
	scheduling_point();
	trace_access(pc, "write", address, size);
	memory_announce(address, size);
}

/* A LOCKed instruction: everything before it is out, and it acts on what all see. */
static void before_locked(void *address, size_t size, void *pc)
{
	if (!seen_by_others(address, size, true)) {
		if (model_running)
			memory_fence();
		return;
	}
	scheduling_point();
	memory_fence();
	memory_choose_drains(address, size);
	memory_note_change(address);
	trace_access(pc, "locked", address, size);
}

#define PC __builtin_return_address(0)

void __tsan_init(void);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_read_range(void *address, size_t size);
void __tsan_write_range(void *address, size_t size);
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc)
{
	(void)pc;
}

/* A store must be complete before its CPU can lose its turn; every hook sees to that. */
void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *address, size_t size)
{
	before_read(address, size, PC);
}

void __tsan_write_range(void *address, size_t size)
{
	before_write(address, size, PC);
}

/* smp_mb. */
void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	if (!model_running)
		return;
	memory_finish_store();
	scheduling_point();
	memory_fence();
	trace_access(PC, "fence", NULL, 0);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}

#define PLAIN(bytes)                                                                               \
	void __tsan_read##bytes(void *address);                                                    \
	void __tsan_write##bytes(void *address);                                                   \
	void __tsan_unaligned_read##bytes(void *address);                                          \
	void __tsan_unaligned_write##bytes(void *address);                                         \
	void __tsan_read##bytes(void *address)                                                     \
	{                                                                                          \
		before_read(address, bytes, PC);                                                   \
	}                                                                                          \
	void __tsan_write##bytes(void *address)                                                    \
	{                                                                                          \
		before_write(address, bytes, PC);                                                  \
	}                                                                                          \
	void __tsan_unaligned_read##bytes(void *address)                                           \
	{                                                                                          \
		before_read(address, bytes, PC);                                                   \
	}                                                                                          \
	void __tsan_unaligned_write##bytes(void *address)                                          \
	{                                                                                          \
		before_write(address, bytes, PC);                                                  \
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

/* The value goes to memory here; the next hook finds it there and puts it into the buffer. */
#define RMW(type, bits, name, expression)                                                          \
	type __tsan_atomic##bits##_##name(type *p, type v, int order);                             \
	type __tsan_atomic##bits##_##name(type *p, type v, int order)                              \
	{                                                                                          \
		type old;                                                                          \
		(void)order;                                                                       \
		before_locked(p, sizeof(*p), PC);                                                  \
		old = *p;                                                                          \
		*p = (expression);                                                                 \
		return old;                                                                        \
	}

#define ATOMIC(type, bits)                                                                         \
	type __tsan_atomic##bits##_load(type *p, int order);                                       \
	void __tsan_atomic##bits##_store(type *p, type v, int order);                              \
	bool __tsan_atomic##bits##_compare_exchange_strong(type *p, type *old, type v, int order,  \
							   int otherwise);                        \
	type __tsan_atomic##bits##_load(type *p, int order)                                        \
	{                                                                                          \
		(void)order;                                                                       \
		before_read(p, sizeof(*p), PC);                                                    \
		return *p;                                                                         \
	}                                                                                          \
	void __tsan_atomic##bits##_store(type *p, type v, int order)                               \
	{                                                                                          \
		(void)order;                                                                       \
		before_write(p, sizeof(*p), PC);                                                   \
		*p = v;                                                                            \
	}                                                                                          \
	bool __tsan_atomic##bits##_compare_exchange_strong(type *p, type *old, type v, int order,  \
							   int otherwise)                         \
	{                                                                                          \
		(void)order;                                                                       \
		(void)otherwise;                                                                   \
		before_locked(p, sizeof(*p), PC);                                                  \
		if (*p != *old) {                                                                  \
			*old = *p;                                                                 \
			return false;                                                              \
		}                                                                                  \
		*p = v;                                                                            \
		return true;                                                                       \
	}                                                                                          \
	RMW(type, bits, exchange, v)                                                               \
	RMW(type, bits, fetch_add, old + v)                                                        \
	RMW(type, bits, fetch_sub, old - v)                                                        \
	RMW(type, bits, fetch_and, old & v)                                                        \
	RMW(type, bits, fetch_or, old | v)

ATOMIC(u32, 32)
ATOMIC(u64, 64)
