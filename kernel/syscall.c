/*
 * syscall.c - from a number to a function. Linux's numbers and meanings below 0x1000, our own above
 * (kernel/abi.h). An unknown call returns -ENOSYS and is counted.
 */
#include "kernel/syscall.h"
#include "arch/cpu.h"
#include "arch/trap.h"
#include "arch/uaccess.h"
#include "drivers/clock.h"
#include "kernel/abi.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/exec.h"
#include "kernel/file.h"
#include "kernel/futex.h"
#include "kernel/ipc.h"
#include "kernel/log.h"
#include "kernel/sched.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "mm/mm.h"
#include "mm/object.h"

/* Arguments in the order of the Linux convention. */
#define A0(tf) ((tf)->rdi)
#define A1(tf) ((tf)->rsi)
#define A2(tf) ((tf)->rdx)
#define A3(tf) ((tf)->r10)
#define A4(tf) ((tf)->r8)
#define A5(tf) ((tf)->r9)

typedef s64 (*syscall_fn)(struct trap_frame *tf);

/* ---- Memory ---------------------------------------------------------------------------------------- */

#define MAP_SHARED    0x01u
#define MAP_PRIVATE   0x02u
#define MAP_FIXED     0x10u
#define MAP_ANONYMOUS 0x20u
#define MAP_POPULATE  0x8000u
#define MADV_DONTNEED 4
#define MCL_CURRENT   1u
#define MCL_FUTURE    2u
#define O_ACCMODE     3u

static s64 map_file(u64 addr, u64 len, u32 flags, struct file *file, u64 offset, bool fixed)
{
	if (file->kind != FILE_OBJECT)
		return -ENODEV;
	if ((flags & VMA_SHARED) && (flags & VMA_WRITE) && !(file->flags & O_ACCMODE))
		return -EACCES;
	if (!(flags & VMA_SHARED) || (file->flags & O_ACCMODE))
		flags |= VMA_MAYWRITE;
	return mm_map(current->mm, addr, len, flags, file->object, offset / PAGE_SIZE, file, fixed);
}

static s64 map_anonymous(u64 addr, u64 len, u32 flags, bool fixed)
{
	struct vm_object *object = NULL;
	s64 at;

	flags |= VMA_MAYWRITE;
	if (flags & VMA_SHARED) {
		object = object_create(OBJECT_SHMEM, NULL, 0, len);
		if (!object)
			return -ENOMEM;
	}
	at = mm_map(current->mm, addr, len, flags, object, 0, NULL, fixed);
	if (object)
		object_put(object);
	return at;
}

static s64 do_mmap(struct trap_frame *tf)
{
	u64 addr = A0(tf), len = A1(tf), prot = A2(tf), map = A3(tf), offset = A5(tf);
	bool shared = map & MAP_SHARED, fixed = map & MAP_FIXED;
	u32 flags = (u32)(prot & VMA_PROT) | (shared ? VMA_SHARED : 0);
	struct file *file;
	s64 at;

	if (shared == !!(map & MAP_PRIVATE) || (prot & ~(u64)VMA_PROT) || !len ||
	    !IS_ALIGNED(offset, PAGE_SIZE))
		return -EINVAL;
	if (map & MAP_ANONYMOUS) {
		at = map_anonymous(addr, len, flags, fixed);
	} else {
		file = fd_lookup(current->task, A4(tf));
		if (!file)
			return -EBADF;
		at = map_file(addr, len, flags, file, offset, fixed);
		file_put(file);
	}
	if (at > 0 && (map & MAP_POPULATE))
		(void)mm_populate(current->mm, (u64)at, (u64)at + ALIGN_UP(len, PAGE_SIZE));
	return at;
}

static s64 do_munmap(struct trap_frame *tf)
{
	return mm_unmap(current->mm, A0(tf), A1(tf));
}

static s64 do_mprotect(struct trap_frame *tf)
{
	return mm_protect(current->mm, A0(tf), A1(tf), (u32)A2(tf));
}

static s64 do_madvise(struct trap_frame *tf)
{
	return A2(tf) == MADV_DONTNEED ? mm_discard(current->mm, A0(tf), A1(tf)) : -EINVAL;
}

static s64 do_brk(struct trap_frame *tf)
{
	return (s64)mm_brk(current->mm, A0(tf));
}

static s64 do_mlockall(struct trap_frame *tf)
{
	if (!A0(tf) || (A0(tf) & ~(u64)(MCL_CURRENT | MCL_FUTURE)))
		return -EINVAL;
	return mm_lock_all(current->mm, A0(tf) & MCL_CURRENT, A0(tf) & MCL_FUTURE);
}

/* ---- Files ------------------------------------------------------------------------------------------- */

#define AT_FDCWD (-100)

static s64 do_read(struct trap_frame *tf)
{
	return sys_read(A0(tf), A1(tf), A2(tf));
}

static s64 do_write(struct trap_frame *tf)
{
	return sys_write(A0(tf), A1(tf), A2(tf));
}

static s64 do_writev(struct trap_frame *tf)
{
	return sys_writev(A0(tf), A1(tf), A2(tf));
}

static s64 do_open(struct trap_frame *tf)
{
	return sys_open(A0(tf), A1(tf), A2(tf));
}

static s64 do_openat(struct trap_frame *tf)
{
	return (s32)A0(tf) == AT_FDCWD ? sys_open(A1(tf), A2(tf), A3(tf)) : -EBADF;
}

static s64 do_close(struct trap_frame *tf)
{
	return sys_close(A0(tf));
}

static s64 do_lseek(struct trap_frame *tf)
{
	return sys_lseek(A0(tf), (s64)A1(tf), A2(tf));
}

static s64 do_fstat(struct trap_frame *tf)
{
	return sys_fstat(A0(tf), A1(tf));
}

static s64 do_ioctl(struct trap_frame *tf)
{
	return sys_ioctl(A0(tf), A1(tf), A2(tf));
}

static s64 do_ftruncate(struct trap_frame *tf)
{
	return sys_ftruncate(A0(tf), A1(tf));
}

static s64 do_unlink(struct trap_frame *tf)
{
	return sys_unlink(A0(tf));
}

/* ---- Tasks and threads --------------------------------------------------------------------------------- */

#define WNOHANG 1

static s64 do_clone(struct trap_frame *tf)
{
	return sys_clone(tf, A0(tf), A1(tf), A2(tf), A3(tf), A4(tf));
}

static s64 do_fork(struct trap_frame *tf)
{
	return sys_clone(tf, 0, 0, 0, 0, 0);
}

static s64 do_execve(struct trap_frame *tf)
{
	return sys_execve(tf, A0(tf), A1(tf), A2(tf));
}

static s64 do_wait4(struct trap_frame *tf)
{
	s32 status = 0;
	s64 pid = task_wait((s32)A0(tf), &status, A2(tf) & WNOHANG);

	if (pid > 0 && A1(tf) && put_user_u32(A1(tf), (u32)status))
		return -EFAULT;
	return pid;
}

static s64 do_exit(struct trap_frame *tf)
{
	task_exit_thread((s32)((A0(tf) & 0xff) << 8));
}

static s64 do_exit_group(struct trap_frame *tf)
{
	task_exit_group((s32)((A0(tf) & 0xff) << 8));
}

static s64 do_kill(struct trap_frame *tf)
{
	s32 pid = (s32)A0(tf);
	int signal = (int)A1(tf);

	if (pid <= 0 || signal < 0 || signal > 64)
		return -EINVAL;
	return signal ? task_kill((u32)pid, signal) : -EINVAL;
}

static s64 do_getpid(struct trap_frame *tf)
{
	(void)tf;
	return current->task->pid;
}

static s64 do_gettid(struct trap_frame *tf)
{
	(void)tf;
	return current->tid;
}

static s64 do_getppid(struct trap_frame *tf)
{
	(void)tf;
	return current->task->ppid;
}

static s64 do_set_tid_address(struct trap_frame *tf)
{
	current->clear_child_tid = A0(tf);
	return current->tid;
}

#define ARCH_SET_FS 0x1002

static s64 do_arch_prctl(struct trap_frame *tf)
{
	if (A0(tf) != ARCH_SET_FS)
		return -EINVAL;
	if (A1(tf) >= USER_END)
		return -EPERM;
	current->fs_base = A1(tf);
	wrmsr(MSR_FS_BASE, A1(tf));
	return 0;
}

static s64 do_sched_yield(struct trap_frame *tf)
{
	(void)tf;
	sched_yield();
	return 0;
}

/* pid 0 or the caller's own thread id. */
static bool is_self(u64 pid)
{
	return pid == 0 || pid == current->tid || pid == current->task->pid;
}

static s64 do_sched_setaffinity(struct trap_frame *tf)
{
	u64 mask = 0;

	if (!is_self(A0(tf)))
		return -ESRCH;
	if (copy_from_user(&mask, A2(tf), MIN(A1(tf), sizeof(mask))))
		return -EFAULT;
	if (!(mask & READ_ONCE(cpu_online_mask)))
		return -EINVAL;
	sched_set_affinity(current, mask);
	return 0;
}

static s64 do_sched_getaffinity(struct trap_frame *tf)
{
	u64 mask = current->affinity & READ_ONCE(cpu_online_mask);

	if (!is_self(A0(tf)))
		return -ESRCH;
	if (A1(tf) < sizeof(mask))
		return -EINVAL;
	return copy_to_user(A2(tf), &mask, sizeof(mask)) ? -EFAULT : (s64)sizeof(mask);
}

static s64 do_rt_sigprocmask(struct trap_frame *tf)
{
	u64 none = 0; /* there are no signals to block: the old mask is always empty */

	return A2(tf) && copy_to_user(A2(tf), &none, sizeof(none)) ? -EFAULT : 0;
}

static s64 do_futex(struct trap_frame *tf)
{
	return sys_futex(A0(tf), A1(tf), A2(tf), A3(tf));
}

/* ---- Time ------------------------------------------------------------------------------------------------ */

#define CLOCK_REALTIME   0
#define CLOCK_MONOTONIC  1
#define TIMER_ABSTIME    1

struct timespec64 {
	s64 sec, nsec;
};

int get_user_timespec(u64 *ns, u64 addr)
{
	struct timespec64 ts;

	if (copy_from_user(&ts, addr, sizeof(ts)))
		return -EFAULT;
	if (ts.sec < 0 || ts.nsec < 0 || ts.nsec >= (s64)NSEC_PER_SEC)
		return -EINVAL;
	*ns = ts.sec > 1000000000 ? 1000000000ull * NSEC_PER_SEC :
				    (u64)ts.sec * NSEC_PER_SEC + (u64)ts.nsec;
	return 0;
}

static u64 clock_of(u64 which)
{
	return which == CLOCK_REALTIME ? clock_realtime_ns() : clock_ns();
}

static s64 do_clock_gettime(struct trap_frame *tf)
{
	u64 ns = clock_of(A0(tf));
	struct timespec64 ts = {(s64)(ns / NSEC_PER_SEC), (s64)(ns % NSEC_PER_SEC)};

	return copy_to_user(A1(tf), &ts, sizeof(ts));
}

static s64 do_nanosleep(struct trap_frame *tf)
{
	u64 ns;
	int err = get_user_timespec(&ns, A0(tf));

	return err ? err : sleep_until(clock_ns() + ns);
}

static s64 do_clock_nanosleep(struct trap_frame *tf)
{
	u64 ns, now = clock_of(A0(tf));
	int err = get_user_timespec(&ns, A2(tf));

	if (err)
		return err;
	if (A1(tf) & TIMER_ABSTIME)
		ns = ns > now ? ns - now : 0;
	return sleep_until(clock_ns() + ns);
}

/* ---- Native calls ------------------------------------------------------------------------------------------ */

static s64 do_endpoint_create(struct trap_frame *tf)
{
	(void)tf;
	return sys_endpoint_create();
}

static s64 do_handle_close(struct trap_frame *tf)
{
	return handle_close(current->task, A0(tf));
}

static s64 do_handle_mint(struct trap_frame *tf)
{
	return sys_handle_mint(A0(tf), A1(tf));
}

static s64 do_ipc_call(struct trap_frame *tf)
{
	return sys_ipc_call(A0(tf), A1(tf));
}

static s64 do_ipc_recv(struct trap_frame *tf)
{
	return sys_ipc_recv(A0(tf), A1(tf));
}

static s64 do_ipc_reply(struct trap_frame *tf)
{
	return sys_ipc_reply(A0(tf));
}

/* A caller that was killed meanwhile is no reason not to receive the next one. */
static s64 do_ipc_reply_recv(struct trap_frame *tf)
{
	s64 err = sys_ipc_reply(A1(tf));

	return err && err != -ESRCH ? err : sys_ipc_recv(A0(tf), A1(tf));
}

static s64 do_object_create(struct trap_frame *tf)
{
	struct vm_object *object;
	struct cap pager;
	int err = handle_lookup(current->task, A0(tf), CAP_ENDPOINT, &pager);

	if (err)
		return err;
	object = (s64)A2(tf) >= 0 ? object_create(OBJECT_PAGED, pager.ptr, A1(tf), A2(tf)) : NULL;
	cap_put(pager);
	if (!object)
		return (s64)A2(tf) >= 0 ? -ENOMEM : -EINVAL;
	return handle_install(current->task, (struct cap){CAP_OBJECT, 0, object, 0});
}

static s64 do_object_map(struct trap_frame *tf)
{
	u64 prot = A2(tf), offset = A3(tf);
	struct vm_object *object;
	struct cap cap;
	int err = handle_lookup(current->task, A0(tf), CAP_OBJECT, &cap);
	s64 at = -EINVAL;

	if (err)
		return err;
	object = cap.ptr;
	if (IS_ALIGNED(offset, PAGE_SIZE) && !(prot & ~(u64)VMA_PROT) &&
	    (object->kind != OBJECT_BOOT || !(prot & VMA_WRITE)))
		at = mm_map(current->mm, 0, A1(tf), (u32)prot | VMA_SHARED, object,
			    offset / PAGE_SIZE, NULL, false);
	cap_put(cap);
	return at;
}

/* Only the pager of an object may say how long it is. */
static s64 do_object_resize(struct trap_frame *tf)
{
	struct vm_object *object;
	struct cap cap;
	int err = handle_lookup(current->task, A0(tf), CAP_OBJECT, &cap);

	if (err)
		return err;
	object = cap.ptr;
	if (object->kind != OBJECT_PAGED || object->pager->owner != current->task)
		err = -EPERM;
	else if ((s64)A1(tf) < 0)
		err = -EINVAL;
	else
		object_resize(object, A1(tf));
	cap_put(cap);
	return err;
}

static s64 do_object_size(struct trap_frame *tf)
{
	struct cap cap;
	int err = handle_lookup(current->task, A0(tf), CAP_OBJECT, &cap);
	s64 size;

	if (err)
		return err;
	size = (s64)READ_ONCE(((struct vm_object *)cap.ptr)->size);
	cap_put(cap);
	return size;
}

static s64 do_info(struct trap_frame *tf)
{
	return sys_info(A0(tf), A1(tf), A2(tf));
}

static s64 do_control(struct trap_frame *tf)
{
	return sys_control(A0(tf), A1(tf), A2(tf));
}

/* ---- The tables --------------------------------------------------------------------------------------------- */

static const syscall_fn linux_calls[] = {
	[0] = do_read,
	[1] = do_write,
	[2] = do_open,
	[3] = do_close,
	[5] = do_fstat,
	[8] = do_lseek,
	[9] = do_mmap,
	[10] = do_mprotect,
	[11] = do_munmap,
	[12] = do_brk,
	[14] = do_rt_sigprocmask,
	[16] = do_ioctl,
	[20] = do_writev,
	[24] = do_sched_yield,
	[28] = do_madvise,
	[35] = do_nanosleep,
	[39] = do_getpid,
	[56] = do_clone,
	[57] = do_fork,
	[59] = do_execve,
	[60] = do_exit,
	[61] = do_wait4,
	[62] = do_kill,
	[77] = do_ftruncate,
	[87] = do_unlink,
	[110] = do_getppid,
	[151] = do_mlockall,
	[158] = do_arch_prctl,
	[186] = do_gettid,
	[202] = do_futex,
	[203] = do_sched_setaffinity,
	[204] = do_sched_getaffinity,
	[218] = do_set_tid_address,
	[228] = do_clock_gettime,
	[230] = do_clock_nanosleep,
	[231] = do_exit_group,
	[257] = do_openat,
};

static const syscall_fn native_calls[] = {
	[SYS_endpoint_create - SYS_native_base] = do_endpoint_create,
	[SYS_handle_close - SYS_native_base] = do_handle_close,
	[SYS_handle_mint - SYS_native_base] = do_handle_mint,
	[SYS_ipc_call - SYS_native_base] = do_ipc_call,
	[SYS_ipc_recv - SYS_native_base] = do_ipc_recv,
	[SYS_ipc_reply - SYS_native_base] = do_ipc_reply,
	[SYS_ipc_reply_recv - SYS_native_base] = do_ipc_reply_recv,
	[SYS_object_create - SYS_native_base] = do_object_create,
	[SYS_object_map - SYS_native_base] = do_object_map,
	[SYS_object_resize - SYS_native_base] = do_object_resize,
	[SYS_object_size - SYS_native_base] = do_object_size,
	[SYS_info - SYS_native_base] = do_info,
	[SYS_control - SYS_native_base] = do_control,
};

static syscall_fn find_call(u64 number)
{
	if (number < ARRAY_SIZE(linux_calls))
		return linux_calls[number];
	if (number >= SYS_native_base && number - SYS_native_base < ARRAY_SIZE(native_calls))
		return native_calls[number - SYS_native_base];
	return NULL;
}

void syscall_dispatch(struct trap_frame *tf)
{
	syscall_fn fn = find_call(tf->rax);

	this_cpu_add64(syscalls, 1);
	if (!fn) {
		count_vm_event(UNKNOWN_SYSCALLS);
		pr_debug("%s: unknown system call %lu\n", current->name, tf->rax);
		tf->rax = (u64)-ENOSYS;
		return;
	}
	/* A successful exec has filled the whole frame: rax is 0 there. */
	tf->rax = (u64)fn(tf);
	ASSERT(current->nr_mutexes == 0, "%s leaves a system call holding %s", current->name,
	       current->mutexes[0]->name);
}
