/*
 * syscall.h - the system calls: numbers, arguments and functions.
 *
 * All take their arguments as registers hold them and return a value >= 0 or a negative errno.
 * Linux's calls have Linux's numbers and meaning (section 2 of the manual); ours are described in
 * abi.h. Context of all: the calling thread, interrupts on, may sleep. In order: kernel/file.c,
 * read_write.c, descriptor.c and pipe.c, mm/sys_mm.c, fork.c and exec.c, signal.c, sys_task.c, futex.c;
 * ours: ipc_user.c, handle.c, sys_mm.c, info.c, tests/kernel/tlbprobe.c, tests/kernel/vmtest.c
 */
#pragma once

#include "user/abi.h"
#include "kernel/types.h"

struct trap_frame;

/* X(number, arguments, name): sys_name takes that many u64; F instead: all registers. */
#define LINUX_SYSCALLS(X)                                                                          \
	X(0, 3, read)                  /* fd, buf, len */                                          \
	X(1, 3, write)                 /* fd, buf, len */                                          \
	X(2, 3, open)                  /* path, flags, mode */                                     \
	X(3, 1, close)                 /* fd */                                                    \
	X(4, 2, stat)                  /* path, buf */                                             \
	X(5, 2, fstat)                 /* fd, buf */                                               \
	X(6, 2, lstat)                 /* path, buf */                                             \
	X(8, 3, lseek)                 /* fd, offset, whence */                                    \
	X(16, 3, ioctl)                /* fd, request, arg */                                      \
	X(17, 4, pread64)              /* fd, buf, len, pos */                                     \
	X(18, 4, pwrite64)             /* fd, buf, len, pos */                                     \
	X(19, 3, readv)                /* fd, iov, count */                                        \
	X(20, 3, writev)               /* fd, iov, count */                                        \
	X(22, 1, pipe)                 /* fds */                                                   \
	X(32, 1, dup)                  /* fd */                                                    \
	X(33, 2, dup2)                 /* fd, copy */                                              \
	X(72, 3, fcntl)                /* fd, command, arg */                                      \
	X(77, 2, ftruncate)            /* fd, size */                                              \
	X(87, 1, unlink)               /* path */                                                  \
	X(257, 4, openat)              /* dir, path, flags, mode */                                \
	X(262, 4, newfstatat)          /* dir, path, buf, flags */                                 \
	X(292, 3, dup3)                /* fd, copy, flags */                                       \
	X(293, 2, pipe2)               /* fds, flags */                                            \
	X(295, 4, preadv)              /* fd, iov, count, pos */                                   \
	X(296, 4, pwritev)             /* fd, iov, count, pos */                                   \
	X(9, 6, mmap)                  /* addr, len, prot, flags, fd, offset */                    \
	X(10, 3, mprotect)             /* addr, len, prot */                                       \
	X(11, 2, munmap)               /* addr, len */                                             \
	X(12, 1, brk)                  /* brk */                                                   \
	X(28, 3, madvise)              /* addr, len, advice */                                     \
	X(151, 1, mlockall)            /* flags */                                                 \
	X(56, F, clone)                /* flags, stack, parent_tid, child_tid, tls */              \
	X(57, F, fork)                                                                             \
	X(59, F, execve)               /* path, argv, envp */                                      \
	X(58, F, vfork)                                                                            \
	X(13, 4, rt_sigaction)         /* signal, new, old, set size */                            \
	X(14, 4, rt_sigprocmask)       /* how, set, old, set size */                               \
	X(200, 2, tkill)               /* tid, signal */                                           \
	X(234, 3, tgkill)              /* pid, tid, signal */                                      \
	X(24, 0, sched_yield)                                                                      \
	X(35, 1, nanosleep)            /* request */                                               \
	X(39, 0, getpid)                                                                           \
	X(60, 1, exit)                 /* status */                                                \
	X(61, 3, wait4)                /* pid, status, options */                                  \
	X(62, 2, kill)                 /* pid, signal */                                           \
	X(110, 0, getppid)                                                                         \
	X(158, 2, arch_prctl)          /* op, addr */                                              \
	X(186, 0, gettid)                                                                          \
	X(203, 3, sched_setaffinity)   /* pid, size, mask */                                       \
	X(204, 3, sched_getaffinity)   /* pid, size, mask */                                       \
	X(218, 1, set_tid_address)     /* addr */                                                  \
	X(228, 2, clock_gettime)       /* clock, buf */                                            \
	X(230, 3, clock_nanosleep)     /* clock, flags, request */                                 \
	X(231, 1, exit_group)          /* status */                                                \
	X(202, 4, futex)               /* addr, op, value, timeout */

/* The same for our own. */
#define NATIVE_SYSCALLS(X)                                                                         \
	X(SYS_endpoint_create, 0, endpoint_create)                                                 \
	X(SYS_handle_mint, 2, handle_mint)                                                         \
	X(SYS_ipc_call, 2, ipc_call)                                                               \
	X(SYS_ipc_recv, 2, ipc_recv)                                                               \
	X(SYS_ipc_reply, 1, ipc_reply)                                                             \
	X(SYS_ipc_reply_recv, 2, ipc_reply_recv)                                                   \
	X(SYS_handle_close, 1, handle_close)                                                       \
	X(SYS_handle_inherit, 2, handle_inherit)                                                   \
	X(SYS_object_create, 3, object_create)                                                     \
	X(SYS_object_map, 4, object_map)                                                           \
	X(SYS_object_resize, 2, object_resize)                                                     \
	X(SYS_object_size, 1, object_size)                                                         \
	X(SYS_move_range, 4, move_range)                                                           \
	X(SYS_page_node, 3, page_node)                                                             \
	X(SYS_info, 3, info)                                                                       \
	X(SYS_control, 3, control)                                                                 \
	X(SYS_tlbprobe, 2, tlbprobe)                                                               \
	X(SYS_vmtest, 1, vmtest)

#define SYSCALL_ARGS_0 void
#define SYSCALL_ARGS_1 u64
#define SYSCALL_ARGS_2 u64, u64
#define SYSCALL_ARGS_3 u64, u64, u64
#define SYSCALL_ARGS_4 u64, u64, u64, u64
#define SYSCALL_ARGS_6 u64, u64, u64, u64, u64, u64
#define SYSCALL_ARGS_F struct trap_frame *

#define X(number, args, name) s64 sys_##name(SYSCALL_ARGS_##args);
LINUX_SYSCALLS(X)
NATIVE_SYSCALLS(X)
#undef X

/* A struct timespec in user memory, in nanoseconds. -EFAULT or -EINVAL. */
int get_user_timespec(u64 *ns, u64 addr);
