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
int get_user_u64(u64 *value, u64 from);
int get_user_u32(u32 *value, u64 from);
int put_user_u32(u64 to, u32 value);
