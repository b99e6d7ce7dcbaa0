/*
 * uaccess.h - copying to and from user memory.
 *
 * Addresses are checked against the user range; a fault in the copy is repaired by demand paging
 * or, when that is impossible, ends it with -EFAULT through the exception table. Context of all
 * functions: may sleep, the current thread has an address space.
 */
#pragma once

#include "kernel/types.h"

int copy_from_user(void *to, u64 from, size_t len);
int copy_to_user(u64 to, const void *from, size_t len);
int clear_user(u64 to, size_t len);
/* Copy a string of at most size - 1 characters. Its length, -EFAULT or -ENAMETOOLONG. */
s64 strncpy_from_user(char *to, u64 from, size_t size);
/* One word, of the size that value points at; a u32. */
#define get_user(value, from)   copy_from_user(value, from, sizeof(*(value)))
#define put_user_u32(to, value) copy_to_user(to, &(u32){value}, sizeof(u32))
