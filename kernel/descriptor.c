/* descriptor.c - the system calls on descriptors: dup, fcntl, close (see file.h, handle.h). */
#include "kernel/errno.h"
#include "kernel/file.h"
#include "kernel/handle.h"
#include "kernel/syscall.h"
#include "kernel/task.h"

#define F_DUPFD         0
#define F_GETFD         1
#define F_SETFD         2
#define F_GETFL         3
#define F_SETFL         4
#define F_DUPFD_CLOEXEC 1030
#define FD_CLOEXEC      1u

static struct cap file_cap(struct file *file, bool cloexec)
{
	return (struct cap){CAP_FILE, cloexec ? CAP_CLOEXEC : 0, file, 0};
}

s64 fd_install(struct task *task, struct file *file)
{
	return handle_install(task, file_cap(file, false));
}

struct file *fd_lookup(u64 fd)
{
	struct cap cap = {0};

	(void)handle_lookup(current->task, fd, CAP_FILE, &cap);
	return cap.ptr;
}

s64 sys_close(u64 fd)
{
	return handle_close(current->task, fd, CAP_FILE);
}

/* The lowest free descriptor from `from` on names the same open file. */
static s64 dup_from(u64 fd, u64 from, bool cloexec)
{
	struct file *file = fd_lookup(fd);
	s64 copy;

	if (!file)
		return -EBADF;
	copy = from < MAX_HANDLES ? fd_reserve(current->task, from, cloexec) : -EINVAL;
	if (copy < 0)
		file_put(file);
	else
		fd_set(current->task, (u64)copy, file_cap(file, false));
	return copy;
}

static s64 dup_to(u64 fd, u64 copy, bool cloexec)
{
	struct file *file = fd_lookup(fd);
	int err;

	if (!file)
		return -EBADF;
	err = fd_replace(current->task, copy, file_cap(file, cloexec));
	return err ? err : (s64)copy;
}

s64 sys_dup(u64 fd)
{
	return dup_from((u32)fd, 0, false);
}

s64 sys_dup2(u64 fd, u64 copy)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup((u32)fd);

	if ((u32)fd == (u32)copy)
		return file ? (s64)(u32)fd : -EBADF;
	return dup_to((u32)fd, (u32)copy, false);
}

s64 sys_dup3(u64 fd, u64 copy, u64 flags)
{
	if ((flags & ~(u64)O_CLOEXEC) || (u32)fd == (u32)copy)
		return -EINVAL;
	return dup_to((u32)fd, (u32)copy, flags & O_CLOEXEC);
}

static s64 set_status(struct file *file, u32 flags)
{
	u32 old = READ_ONCE(file->flags);

	while (!cmpxchg_bool(&file->flags, old, (old & ~O_SETTABLE) | (flags & O_SETTABLE)))
		old = READ_ONCE(file->flags);
	return 0;
}

s64 sys_fcntl(u64 fd, u64 command, u64 arg)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup((u32)fd);

	if (!file)
		return -EBADF;
	switch (command) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return dup_from((u32)fd, arg, command == F_DUPFD_CLOEXEC);
	case F_GETFD:
		return fd_cloexec(current->task, (u32)fd, -1);
	case F_SETFD:
		return MIN(fd_cloexec(current->task, (u32)fd, arg & FD_CLOEXEC), 0);
	case F_GETFL:
		return READ_ONCE(file->flags);
	case F_SETFL:
		return set_status(file, (u32)arg);
	}
	return -EINVAL;
}
