/* syscall.h - the table of system calls, and helpers shared by them. */
#ifndef KERNEL_SYSCALL_H
#define KERNEL_SYSCALL_H

#include "kernel/types.h"

/* A struct timespec in user memory, in nanoseconds. -EFAULT or -EINVAL. */
int get_user_timespec(u64 *ns, u64 addr);

s64 sys_info(u64 kind, u64 buf, u64 size);
s64 sys_control(u64 op, u64 arg, u64 size);

#endif
