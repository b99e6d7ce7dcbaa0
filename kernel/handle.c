/* handle.c - per-task capability tables (see handle.h). */
#include "kernel/handle.h"
#include "kernel/file.h"
#include "kernel/ipc.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "mm/object.h"

struct cap cap_dup(struct cap cap)
{
	if (cap.kind == CAP_ENDPOINT)
		endpoint_get(cap.ptr);
	else if (cap.kind == CAP_OBJECT)
		object_get(cap.ptr);
	else if (cap.kind == CAP_FILE)
		file_get(cap.ptr);
	return cap;
}

void cap_put(struct cap cap)
{
	if (cap.kind == CAP_ENDPOINT)
		endpoint_put(cap.ptr);
	else if (cap.kind == CAP_OBJECT)
		object_put(cap.ptr);
	else if (cap.kind == CAP_FILE)
		file_put(cap.ptr);
}

void cap_cleanup(struct cap *cap)
{
	cap_put(*cap);
}

static struct cap *table_for(struct task *task, enum cap_kind kind)
{
	return kind == CAP_FILE ? task->files : task->handles;
}

static bool install_in(struct task *task, struct cap cap, u64 *slot)
{
	struct cap *table = table_for(task, cap.kind);

	spin_guard(&task->handle_lock);
	for (*slot = 0; *slot < MAX_HANDLES; ++*slot)
		if (table[*slot].kind == CAP_NONE) {
			table[*slot] = cap;
			return true;
		}
	return false;
}

s64 handle_install(struct task *task, struct cap cap)
{
	u64 slot;

	if (install_in(task, cap, &slot))
		return (s64)slot;
	cap_put(cap);
	return -EMFILE;
}

int handle_lookup(struct task *task, u64 handle, enum cap_kind kind, struct cap *cap)
{
	const struct cap *found;

	if (handle >= MAX_HANDLES)
		return -EBADF;
	spin_guard(&task->handle_lock);
	found = &table_for(task, kind)[handle];
	if (found->kind == CAP_NONE || (kind != CAP_NONE && found->kind != kind))
		return -EBADF;
	*cap = cap_dup(*found);
	return 0;
}

int handle_close(struct task *task, u64 handle, enum cap_kind kind)
{
	struct cap cap;

	if (handle >= MAX_HANDLES)
		return -EBADF;
	spin_lock(&task->handle_lock);
	cap = table_for(task, kind)[handle];
	table_for(task, kind)[handle] = (struct cap){0};
	spin_unlock(&task->handle_lock);
	cap_put(cap);
	return cap.kind == CAP_NONE ? -EBADF : 0;
}

s64 sys_handle_close(u64 handle)
{
	return handle_close(current->task, handle, CAP_NONE);
}

u64 handle_footprint(struct task *task)
{
	u64 i, pages = 0;

	spin_guard(&task->handle_lock);
	for (i = 0; i < MAX_HANDLES; i++)
		if (task->handles[i].kind == CAP_OBJECT)
			pages += object_footprint(task->handles[i].ptr);
	return pages;
}

/* Whether children get it. Only control asks: they get endpoints and objects in any case. */
s64 sys_handle_inherit(u64 handle, u64 on)
{
	struct task *task = current->task;
	struct cap *cap;

	if (handle >= MAX_HANDLES || on > 1)
		return handle >= MAX_HANDLES ? -EBADF : -EINVAL;
	spin_guard(&task->handle_lock);
	cap = &task->handles[handle];
	if (cap->kind != CAP_CONTROL)
		return cap->kind == CAP_NONE ? -EBADF : -EINVAL;
	cap->rights = on ? CAP_INHERIT : 0;
	return 0;
}

bool handle_has_control(struct task *task)
{
	u64 i;

	spin_guard(&task->handle_lock);
	for (i = 0; i < MAX_HANDLES; i++)
		if (task->handles[i].kind == CAP_CONTROL)
			return true;
	return false;
}

void handle_close_all(struct task *task)
{
	u64 i;

	for (i = 0; i < MAX_HANDLES; i++) {
		(void)handle_close(task, i, CAP_FILE);
		(void)handle_close(task, i, CAP_NONE);
	}
}

void handle_copy_all(struct task *child, struct task *parent)
{
	u64 i;

	spin_guard(&parent->handle_lock);
	for (i = 0; i < MAX_HANDLES; i++) {
		child->files[i] = cap_dup(parent->files[i]);
		if (parent->handles[i].kind == CAP_CONTROL &&
		    !(parent->handles[i].rights & CAP_INHERIT))
			continue;
		child->handles[i] = cap_dup(parent->handles[i]);
		child->handles[i].rights = 0;
	}
}
