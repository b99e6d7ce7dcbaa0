/*
 * types.h - integer types, machine constants and the macros every file uses.
 *
 * No code and no dependence on the kernel: pure files that include it also compile on the host,
 * where the unit tests run. The 64-bit types are `long`, so u64 prints with %lu and %lx.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define NR_CPUS 64 /* one word of a CPU mask */

#define PAGE_SHIFT     12
#define PAGE_SIZE      (1UL << PAGE_SHIFT)
#define PMD_PAGE_SHIFT 21
#define PMD_PAGE_SIZE  (1UL << PMD_PAGE_SHIFT) /* one 2 MiB mapping */

#define KIB (1UL << 10)
#define MIB (1UL << 20)
#define GIB (1UL << 30)

#define NSEC_PER_USEC 1000UL
#define NSEC_PER_MSEC 1000000UL
#define NSEC_PER_SEC  1000000000UL

#define ARRAY_SIZE(a)     (sizeof(a) / sizeof((a)[0]))
#define ALIGN_DOWN(x, to) ((x) & ~((__typeof__(x))(to)-1)) /* to: a power of two */
#define ALIGN_UP(x, to)   ALIGN_DOWN((x) + ((to)-1), to)
#define IS_ALIGNED(x, to) (((x) & ((__typeof__(x))(to)-1)) == 0)
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define BIT(n)            (1UL << (n))

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* One access, neither torn nor repeated nor left out by the compiler; orders nothing. */
#define READ_ONCE(x)     (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define barrier()        __asm__ volatile("" ::: "memory")

#define __noreturn     __attribute__((noreturn))
#define __packed       __attribute__((packed))
#define __aligned(n)   __attribute__((aligned(n)))
#define __section(s)   __attribute__((section(s)))
#define __weak         __attribute__((weak))
#define __printf(f, a) __attribute__((format(printf, f, a)))

#define STATIC_ASSERT(cond, message) _Static_assert(cond, message)
