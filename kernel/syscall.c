/*
 * syscall.c - from a number to a function. Linux's numbers and meanings below 0x1000, our own above
 * (user/abi.h). An unknown call returns -ENOSYS and is counted.
 */
#include "kernel/syscall.h"
#include "arch/trap.h"
#include "user/abi.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/thread.h"

/* How many arguments, and the function that takes them; FRAME: it wants all registers. */
enum { FRAME = 7 };

struct syscall {
	u8 args;
	union {
		s64 (*f0)(void);
		s64 (*f1)(u64);
		s64 (*f2)(u64, u64);
		s64 (*f3)(u64, u64, u64);
		s64 (*f4)(u64, u64, u64, u64);
		s64 (*f6)(u64, u64, u64, u64, u64, u64);
		s64 (*frame)(struct trap_frame *);
	};
};

static const struct syscall linux_calls[] = {
	[0] = {3, .f3 = sys_read},
	[1] = {3, .f3 = sys_write},
	[2] = {3, .f3 = sys_open},
	[3] = {1, .f1 = sys_close},
	[5] = {2, .f2 = sys_fstat},
	[8] = {3, .f3 = sys_lseek},
	[9] = {6, .f6 = sys_mmap},
	[10] = {3, .f3 = sys_mprotect},
	[11] = {2, .f2 = sys_munmap},
	[12] = {1, .f1 = sys_brk},
	[14] = {3, .f3 = sys_rt_sigprocmask},
	[16] = {3, .f3 = sys_ioctl},
	[20] = {3, .f3 = sys_writev},
	[24] = {0, .f0 = sys_sched_yield},
	[28] = {3, .f3 = sys_madvise},
	[35] = {1, .f1 = sys_nanosleep},
	[39] = {0, .f0 = sys_getpid},
	[56] = {FRAME, .frame = sys_clone},
	[57] = {FRAME, .frame = sys_fork},
	[59] = {FRAME, .frame = sys_execve},
	[60] = {1, .f1 = sys_exit},
	[61] = {3, .f3 = sys_wait4},
	[62] = {2, .f2 = sys_kill},
	[77] = {2, .f2 = sys_ftruncate},
	[87] = {1, .f1 = sys_unlink},
	[110] = {0, .f0 = sys_getppid},
	[151] = {1, .f1 = sys_mlockall},
	[158] = {2, .f2 = sys_arch_prctl},
	[186] = {0, .f0 = sys_gettid},
	[202] = {4, .f4 = sys_futex},
	[203] = {3, .f3 = sys_sched_setaffinity},
	[204] = {3, .f3 = sys_sched_getaffinity},
	[218] = {1, .f1 = sys_set_tid_address},
	[228] = {2, .f2 = sys_clock_gettime},
	[230] = {3, .f3 = sys_clock_nanosleep},
	[231] = {1, .f1 = sys_exit_group},
	[257] = {4, .f4 = sys_openat},
};

#define NATIVE(number) [(number) - SYS_native_base]

static const struct syscall native_calls[] = {
	NATIVE(SYS_endpoint_create) = {0, .f0 = sys_endpoint_create},
	NATIVE(SYS_handle_close) = {1, .f1 = sys_handle_close},
	NATIVE(SYS_handle_mint) = {2, .f2 = sys_handle_mint},
	NATIVE(SYS_ipc_call) = {2, .f2 = sys_ipc_call},
	NATIVE(SYS_ipc_recv) = {2, .f2 = sys_ipc_recv},
	NATIVE(SYS_ipc_reply) = {1, .f1 = sys_ipc_reply},
	NATIVE(SYS_ipc_reply_recv) = {2, .f2 = sys_ipc_reply_recv},
	NATIVE(SYS_object_create) = {3, .f3 = sys_object_create},
	NATIVE(SYS_object_map) = {4, .f4 = sys_object_map},
	NATIVE(SYS_object_resize) = {2, .f2 = sys_object_resize},
	NATIVE(SYS_object_size) = {1, .f1 = sys_object_size},
	NATIVE(SYS_info) = {3, .f3 = sys_info},
	NATIVE(SYS_control) = {3, .f3 = sys_control},
};

/* Arguments in the order of Linux's convention: rdi, rsi, rdx, r10, r8, r9. */
static s64 call(const struct syscall *s, struct trap_frame *tf)
{
	switch (s->args) {
	case 0:
		return s->f0();
	case 1:
		return s->f1(tf->rdi);
	case 2:
		return s->f2(tf->rdi, tf->rsi);
	case 3:
		return s->f3(tf->rdi, tf->rsi, tf->rdx);
	case 4:
		return s->f4(tf->rdi, tf->rsi, tf->rdx, tf->r10);
	case 6:
		return s->f6(tf->rdi, tf->rsi, tf->rdx, tf->r10, tf->r8, tf->r9);
	default:
		return s->frame(tf);
	}
}

static const struct syscall *find_call(u64 number)
{
	const struct syscall *s = NULL;

	if (number < ARRAY_SIZE(linux_calls))
		s = &linux_calls[number];
	else if (number >= SYS_native_base && number - SYS_native_base < ARRAY_SIZE(native_calls))
		s = &native_calls[number - SYS_native_base];
	return s && s->f0 ? s : NULL;
}

void syscall_dispatch(struct trap_frame *tf)
{
	const struct syscall *s = find_call(tf->rax);
	s64 result = -ENOSYS;

	this_cpu_add64(stat.syscalls, 1);
	if (s) {
		result = call(s, tf);
	} else {
		count_vm_event(unknown_syscalls);
		pr_debug("%s: unknown system call %lu\n", current->name, tf->rax);
	}
	tf->rax = (u64)result; /* after a successful exec: 0, in a frame that exec filled */
	ASSERT(current->nr_mutexes == 0, "%s leaves a system call holding %s", current->name,
	       current->mutexes[0]->name);
}
