/*
 * syscall.c - from a number to a function. Linux's numbers and meanings below 0x1000, our own above
 * (user/abi.h). An unknown call returns -ENOSYS and is counted.
 */
#include "kernel/syscall.h"
#include "arch/trap.h"
#include "user/abi.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/thread.h"
#include "kernel/trace.h"
#include "mm/fail.h"

/* How many arguments, and the function that takes them; F: it wants all registers. */
enum { ARGS_0, ARGS_1, ARGS_2, ARGS_3, ARGS_4, ARGS_6, ARGS_F };

struct syscall {
	u8 args;
	union {
		s64 (*f_0)(SYSCALL_ARGS_0);
		s64 (*f_1)(SYSCALL_ARGS_1);
		s64 (*f_2)(SYSCALL_ARGS_2);
		s64 (*f_3)(SYSCALL_ARGS_3);
		s64 (*f_4)(SYSCALL_ARGS_4);
		s64 (*f_6)(SYSCALL_ARGS_6);
		s64 (*f_F)(SYSCALL_ARGS_F);
	};
};

#define X(number, n, name) [(number) % SYS_native_base] = {ARGS_##n, .f_##n = sys_##name},
static const struct syscall linux_calls[] = {LINUX_SYSCALLS(X)};
static const struct syscall native_calls[] = {NATIVE_SYSCALLS(X)};
#undef X

/* Arguments in the order of Linux's convention: rdi, rsi, rdx, r10, r8, r9. */
static s64 call(const struct syscall *s, struct trap_frame *tf)
{
	switch (s->args) {
	case ARGS_0:
		return s->f_0();
	case ARGS_1:
		return s->f_1(tf->rdi);
	case ARGS_2:
		return s->f_2(tf->rdi, tf->rsi);
	case ARGS_3:
		return s->f_3(tf->rdi, tf->rsi, tf->rdx);
	case ARGS_4:
		return s->f_4(tf->rdi, tf->rsi, tf->rdx, tf->r10);
	case ARGS_6:
		return s->f_6(tf->rdi, tf->rsi, tf->rdx, tf->r10, tf->r8, tf->r9);
	default:
		return s->f_F(tf);
	}
}

static const struct syscall *find_call(u64 number)
{
	const struct syscall *s = NULL;

	if (number < ARRAY_SIZE(linux_calls))
		s = &linux_calls[number];
	else if (number >= SYS_native_base && number - SYS_native_base < ARRAY_SIZE(native_calls))
		s = &native_calls[number - SYS_native_base];
	return s && s->f_0 ? s : NULL;
}

void syscall_dispatch(struct trap_frame *tf)
{
	const struct syscall *s = find_call(tf->rax);
	s64 result = -ENOSYS;

	this_cpu_add64(stat.syscalls, 1);
	fail_begin_call();
	TRACE(syscall, tf->rax, tf->rdi);
	if (s) {
		result = call(s, tf);
	} else {
		count_vm_event(unknown_syscalls);
		pr_debug("%s: unknown system call %lu\n", current->name, tf->rax);
	}
	fail_end_call();
	tf->rax = (u64)result; /* after a successful exec: 0, in a frame that exec filled */
	ASSERT(current->nr_mutexes == 0, "%s leaves a system call holding %s", current->name,
	       current->mutexes[0]->name);
}
