/* sys_task.c - the system calls on tasks, threads and time. */
#include "arch/cpu.h"
#include "arch/layout.h"
#include "arch/switch.h"
#include "arch/trap.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "kernel/user_range.h"

#define WNOHANG       1
#define WAIT_OPTIONS  0xe000000b /* those of wait4(2); there is no job control and nothing to trace */
#define ARCH_SET_FS   0x1002
#define TIMER_ABSTIME 1

s64 sys_exit(u64 status)
{
	task_exit_thread((s32)((status & 0xff) << 8));
}

s64 sys_exit_group(u64 status)
{
	task_exit_group((s32)((status & 0xff) << 8));
}

s64 sys_wait4(u64 pid, u64 user_status, u64 options)
{
	s32 status = 0;
	s64 child = -EINVAL;

	if (!((u32)options & ~WAIT_OPTIONS))
		child = task_wait((s32)pid, &status, options & WNOHANG);
	if (child > 0 && user_status && put_user_u32(user_status, (u32)status))
		return -EFAULT;
	return child;
}

s64 sys_getpid(void)
{
	return current->task->pid;
}

s64 sys_gettid(void)
{
	return current->tid;
}

s64 sys_getppid(void)
{
	return current->task->ppid;
}

s64 sys_set_tid_address(u64 addr)
{
	current->clear_child_tid = addr;
	return current->tid;
}

s64 sys_arch_prctl(u64 op, u64 addr)
{
	if (op != ARCH_SET_FS)
		return -EINVAL;
	if (addr >= USER_END)
		return -EPERM;
	arch_set_fs_base(current, addr);
	return 0;
}

s64 sys_sched_yield(void)
{
	sched_yield();
	return 0;
}

/* Only the caller itself: pid 0, or its own id. */
static bool is_self(u64 pid)
{
	return pid == 0 || pid == current->tid || pid == current->task->pid;
}

s64 sys_sched_setaffinity(u64 pid, u64 size, u64 user_mask)
{
	u64 mask = 0;

	if (!is_self(pid))
		return -ESRCH;
	if (copy_from_user(&mask, user_mask, MIN(size, sizeof(mask))))
		return -EFAULT;
	if (!(mask & READ_ONCE(cpu_online_mask)))
		return -EINVAL;
	sched_set_affinity(current, mask);
	return 0;
}

s64 sys_sched_getaffinity(u64 pid, u64 size, u64 user_mask)
{
	u64 mask = current->affinity & READ_ONCE(cpu_online_mask);

	if (!is_self(pid))
		return -ESRCH;
	if (size < sizeof(mask))
		return -EINVAL;
	return copy_to_user(user_mask, &mask, sizeof(mask)) ? -EFAULT : (s64)sizeof(mask);
}

/* ---- Time ------------------------------------------------------------------------------------ */

struct timespec64 {
	s64 sec, nsec;
};

/* Longer times than 2^64 ns, which nobody waits out, are 2^64 - 1 ns. */
int get_user_timespec(u64 *ns, u64 addr)
{
	struct timespec64 ts;
	u64 whole;

	if (copy_from_user(&ts, addr, sizeof(ts)))
		return -EFAULT;
	if (ts.sec < 0 || ts.nsec < 0 || ts.nsec >= (s64)NSEC_PER_SEC)
		return -EINVAL;
	if (__builtin_mul_overflow((u64)ts.sec, NSEC_PER_SEC, &whole))
		whole = UINT64_MAX;
	*ns = add_saturated(whole, (u64)ts.nsec);
	return 0;
}

enum clock_id {
	CLOCK_REALTIME,
	CLOCK_MONOTONIC,
	CLOCK_PROCESS_CPUTIME_ID,
	CLOCK_THREAD_CPUTIME_ID,
	CLOCK_MONOTONIC_RAW,
	CLOCK_REALTIME_COARSE,
	CLOCK_MONOTONIC_COARSE,
	CLOCK_BOOTTIME,
};

static int read_clock(u64 clock, u64 *ns)
{
	switch ((s32)clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		*ns = clock_realtime_ns();
		return 0;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*ns = clock_ns();
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		*ns = task_run_ns(current->task);
		return 0;
	case CLOCK_THREAD_CPUTIME_ID:
		*ns = thread_run_ns(current);
		return 0;
	}
	return -EINVAL;
}

s64 sys_clock_gettime(u64 clock, u64 buf)
{
	struct timespec64 ts;
	u64 ns;
	int err = read_clock(clock, &ns);

	if (err)
		return err;
	ts = (struct timespec64){(s64)(ns / NSEC_PER_SEC), (s64)(ns % NSEC_PER_SEC)};
	return copy_to_user(buf, &ts, sizeof(ts));
}

static s64 sleep_for(u64 ns)
{
	return sleep_until(add_saturated(clock_ns(), ns));
}

s64 sys_nanosleep(u64 request)
{
	u64 ns;
	int err = get_user_timespec(&ns, request);

	return err ? err : sleep_for(ns);
}

/* Not by CPU time, for which there is no alarm. */
s64 sys_clock_nanosleep(u64 clock, u64 flags, u64 request)
{
	u64 ns, now;
	int err = -EINVAL;

	if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME)
		err = read_clock(clock, &now);
	if (!err)
		err = get_user_timespec(&ns, request);
	if (err)
		return err;
	if (flags & TIMER_ABSTIME)
		ns = ns > now ? ns - now : 0;
	return sleep_for(ns);
}
