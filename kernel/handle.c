/* handle.c - per-task capability tables (see handle.h). */
#include "kernel/handle.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/ipc.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "mm/object.h"

struct cap cap_dup(struct cap cap)
{
	if (cap.kind == CAP_ENDPOINT)
		endpoint_get(cap.ptr);
	else if (cap.kind == CAP_OBJECT)
		object_get(cap.ptr);
	return cap;
}

void cap_put(struct cap cap)
{
	if (cap.kind == CAP_ENDPOINT)
		endpoint_put(cap.ptr);
	else if (cap.kind == CAP_OBJECT)
		object_put(cap.ptr);
}

s64 handle_install(struct task *task, struct cap cap)
{
	u64 i;

	spin_lock(&task->handle_lock);
	for (i = 0; i < MAX_HANDLES && task->handles[i].kind != CAP_NONE; i++)
		;
	if (i < MAX_HANDLES)
		task->handles[i] = cap;
	spin_unlock(&task->handle_lock);
	if (i < MAX_HANDLES)
		return (s64)i;
	cap_put(cap);
	return -EMFILE;
}

int handle_lookup(struct task *task, u64 handle, enum cap_kind kind, struct cap *cap)
{
	int err = -EBADF;

	if (handle >= MAX_HANDLES)
		return -EBADF;
	spin_lock(&task->handle_lock);
	if (task->handles[handle].kind == kind) {
		*cap = cap_dup(task->handles[handle]);
		err = 0;
	}
	spin_unlock(&task->handle_lock);
	return err;
}

int handle_close(struct task *task, u64 handle)
{
	struct cap cap;

	if (handle >= MAX_HANDLES)
		return -EBADF;
	spin_lock(&task->handle_lock);
	cap = task->handles[handle];
	task->handles[handle] = (struct cap){0};
	spin_unlock(&task->handle_lock);
	if (cap.kind == CAP_NONE)
		return -EBADF;
	cap_put(cap);
	return 0;
}

s64 sys_handle_close(u64 handle)
{
	return handle_close(current->task, handle);
}

void handle_close_all(struct task *task)
{
	u64 i;

	for (i = 0; i < MAX_HANDLES; i++)
		(void)handle_close(task, i);
}

void handle_copy_all(struct task *child, struct task *parent)
{
	u64 i;

	spin_lock(&parent->handle_lock);
	for (i = 0; i < MAX_HANDLES; i++) {
		child->handles[i] = cap_dup(parent->handles[i]);
		child->handles[i].rights &= ~CAP_RECEIVE;
	}
	spin_unlock(&parent->handle_lock);
}
