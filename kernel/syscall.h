/*
 * syscall.h - the system calls, by the part of the kernel that serves them.
 *
 * All take their arguments as registers hold them and return a value >= 0 or a negative errno.
 * Linux's calls have Linux's meaning (section 2 of the manual); ours are described in abi.h.
 * Context of all: the calling thread, interrupts on, may sleep.
 */
#pragma once

#include "kernel/types.h"

struct trap_frame;

/* A struct timespec in user memory, in nanoseconds. -EFAULT or -EINVAL. */
int get_user_timespec(u64 *ns, u64 addr);

/* mm/sys_mm.c */
s64 sys_mmap(u64 addr, u64 len, u64 prot, u64 flags, u64 fd, u64 offset);
s64 sys_munmap(u64 addr, u64 len);
s64 sys_mprotect(u64 addr, u64 len, u64 prot);
s64 sys_madvise(u64 addr, u64 len, u64 advice);
s64 sys_brk(u64 brk);
s64 sys_mlockall(u64 flags);
s64 sys_object_create(u64 pager, u64 cookie, u64 size);
s64 sys_object_map(u64 handle, u64 len, u64 prot, u64 offset);
s64 sys_object_resize(u64 handle, u64 size);
s64 sys_object_size(u64 handle);

/* kernel/file.c */
s64 sys_open(u64 path, u64 flags, u64 mode);
s64 sys_openat(u64 dir, u64 path, u64 flags, u64 mode);
s64 sys_close(u64 fd);
s64 sys_read(u64 fd, u64 buf, u64 len);
s64 sys_write(u64 fd, u64 buf, u64 len);
s64 sys_writev(u64 fd, u64 iov, u64 count);
s64 sys_lseek(u64 fd, u64 offset, u64 whence);
s64 sys_fstat(u64 fd, u64 buf);
s64 sys_ioctl(u64 fd, u64 request, u64 arg);
s64 sys_ftruncate(u64 fd, u64 size);
s64 sys_unlink(u64 path);

/* kernel/fork.c, kernel/exec.c */
s64 sys_clone(struct trap_frame *tf);
s64 sys_fork(struct trap_frame *tf);
s64 sys_execve(struct trap_frame *tf);

/* kernel/sys_task.c */
s64 sys_exit(u64 status);
s64 sys_exit_group(u64 status);
s64 sys_wait4(u64 pid, u64 status, u64 options);
s64 sys_kill(u64 pid, u64 signal);
s64 sys_getpid(void);
s64 sys_gettid(void);
s64 sys_getppid(void);
s64 sys_set_tid_address(u64 addr);
s64 sys_arch_prctl(u64 op, u64 addr);
s64 sys_sched_yield(void);
s64 sys_sched_setaffinity(u64 pid, u64 size, u64 mask);
s64 sys_sched_getaffinity(u64 pid, u64 size, u64 mask);
s64 sys_rt_sigprocmask(u64 how, u64 set, u64 old);
s64 sys_clock_gettime(u64 clock, u64 buf);
s64 sys_nanosleep(u64 request);
s64 sys_clock_nanosleep(u64 clock, u64 flags, u64 request);

/* kernel/futex.c */
s64 sys_futex(u64 addr, u64 op, u64 value, u64 timeout);

/* kernel/ipc_user.c, kernel/handle.c */
s64 sys_endpoint_create(void);
s64 sys_handle_close(u64 handle);
s64 sys_handle_mint(u64 handle, u64 badge);
s64 sys_ipc_call(u64 handle, u64 msg);
s64 sys_ipc_recv(u64 handle, u64 msg);
s64 sys_ipc_reply(u64 msg);
s64 sys_ipc_reply_recv(u64 handle, u64 msg);

/* kernel/info.c */
s64 sys_info(u64 kind, u64 buf, u64 size);
s64 sys_control(u64 op, u64 arg, u64 size);
