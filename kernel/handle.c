/* handle.c - per-task capability tables (see handle.h). */
#include "kernel/handle.h"
#include "user/abi.h"
#include "kernel/file.h"
#include "kernel/ipc.h"
#include "kernel/pipe.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"

_Static_assert(MAX_SERVER_HANDLES / CAP_CHUNK * sizeof(struct cap *) <= PAGE_SIZE,
	       "one page names all chunks of a table");

#define FILE_BYTES 192 /* what a slot in use costs besides itself: an open file or an endpoint */

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

/* ---- Tables ---------------------------------------------------------------------------------- */

void handle_init(struct task *task)
{
	task->handles.nr = task->files.nr = CAP_CHUNK;
}

static struct cap_table *table_for(struct task *task, enum cap_kind kind)
{
	return kind == CAP_FILE || kind == CAP_RESERVED ? &task->files : &task->handles;
}

static u32 table_limit(const struct task *task, const struct cap_table *table)
{
	return task->server && table == &task->handles ? MAX_SERVER_HANDLES : MAX_HANDLES;
}

/* Context: handle_lock held; i < table->nr. */
static struct cap *slot_of(struct cap_table *table, u64 i)
{
	return i < CAP_CHUNK ? &table->first[i] :
			       &table->more[i / CAP_CHUNK - 1][i % CAP_CHUNK];
}

/* One chunk more, unless another thread was faster. -EMFILE, -ENOMEM. */
static int grow(struct task *task, struct cap_table *table)
{
	u32 seen = READ_ONCE(table->nr);
	struct cap *chunk;
	struct cap **more;

	if (seen >= table_limit(task, table))
		return -EMFILE;
	chunk = kzalloc(CAP_CHUNK * sizeof(*chunk));
	more = READ_ONCE(table->more) ? NULL : kpage_alloc(0);
	spin_lock(&task->handle_lock);
	if (!table->more) {
		table->more = more;
		more = NULL;
	}
	if (chunk && table->more && table->nr == seen) {
		table->more[seen / CAP_CHUNK - 1] = chunk;
		table->nr += CAP_CHUNK;
		chunk = NULL;
	}
	seen = table->nr - seen;
	spin_unlock(&task->handle_lock);
	kfree(chunk);
	if (more)
		kpage_free(more, 0);
	return seen ? 0 : -ENOMEM;
}

/* The lowest free slot from `from` on takes the capability; false: there is none. */
static bool take_slot(struct task *task, struct cap_table *table, u64 from, struct cap cap,
		      u64 *slot)
{
	bool all;

	spin_guard(&task->handle_lock);
	all = from <= table->free_from;
	for (*slot = MAX(from, (u64)table->free_from); *slot < table->nr; ++*slot)
		if (slot_of(table, *slot)->kind == CAP_NONE) {
			*slot_of(table, *slot) = cap;
			if (all)
				table->free_from = (u32)*slot + 1;
			return true;
		}
	return false;
}

static s64 install_from(struct task *task, u64 from, struct cap cap)
{
	struct cap_table *table = table_for(task, cap.kind);
	u64 slot;
	int err;

	while (!take_slot(task, table, from, cap, &slot)) {
		err = grow(task, table);
		if (err)
			return err;
	}
	return (s64)slot;
}

s64 handle_install(struct task *task, struct cap cap)
{
	s64 slot = install_from(task, 0, cap);

	if (slot < 0)
		cap_put(cap);
	return slot;
}

int handle_lookup(struct task *task, u64 handle, enum cap_kind kind, struct cap *cap)
{
	struct cap_table *table = table_for(task, kind);
	const struct cap *found;

	spin_guard(&task->handle_lock);
	found = handle < table->nr ? slot_of(table, handle) : NULL;
	if (!found || found->kind == CAP_NONE || (kind != CAP_NONE && found->kind != kind))
		return -EBADF;
	*cap = cap_dup(*found);
	return 0;
}

/* What the slot held goes to the caller; a reserved one is its reserver's. Context: lock held. */
static struct cap empty_slot(struct cap_table *table, u64 i)
{
	struct cap *slot = slot_of(table, i), cap = *slot;

	if (cap.kind == CAP_RESERVED)
		return (struct cap){0};
	*slot = (struct cap){0};
	table->free_from = MIN(table->free_from, (u32)i);
	return cap;
}

int handle_close(struct task *task, u64 handle, enum cap_kind kind)
{
	struct cap_table *table = table_for(task, kind);
	struct cap cap = {0};

	spin_lock(&task->handle_lock);
	if (handle < table->nr)
		cap = empty_slot(table, handle);
	spin_unlock(&task->handle_lock);
	cap_put(cap);
	return cap.kind == CAP_NONE ? -EBADF : 0;
}

s64 sys_handle_close(u64 handle)
{
	return handle_close(current->task, handle, CAP_NONE);
}

/* Frames that a handle or descriptor keeps, as far as reclaim cannot take them back. */
static u64 cap_footprint(const struct cap *cap)
{
	const struct file *file = cap->kind == CAP_FILE ? cap->ptr : NULL;

	if (cap->kind == CAP_OBJECT)
		return object_footprint(cap->ptr);
	return file && file->pipe ? pipe_footprint(file->pipe) : 0;
}

static u64 table_footprint(struct cap_table *table)
{
	u64 bytes = table->nr * (sizeof(struct cap) + FILE_BYTES), pages = 0, i;

	for (i = 0; i < table->nr; i++)
		pages += cap_footprint(slot_of(table, i));
	return pages + bytes / PAGE_SIZE;
}

u64 handle_footprint(struct task *task)
{
	spin_guard(&task->handle_lock);
	return table_footprint(&task->files) + table_footprint(&task->handles);
}

/* Whether children get it. Only control asks: they get endpoints and objects in any case. */
s64 sys_handle_inherit(u64 handle, u64 on)
{
	struct task *task = current->task;
	struct cap *cap;

	if (on > 1)
		return -EINVAL;
	spin_guard(&task->handle_lock);
	if (handle >= task->handles.nr)
		return -EBADF;
	cap = slot_of(&task->handles, handle);
	if (cap->kind != CAP_CONTROL)
		return cap->kind == CAP_NONE ? -EBADF : -EINVAL;
	cap->rights = on ? CAP_INHERIT : 0;
	return 0;
}

bool handle_has_control(struct task *task)
{
	u64 i;

	spin_guard(&task->handle_lock);
	for (i = 0; i < task->handles.nr; i++)
		if (slot_of(&task->handles, i)->kind == CAP_CONTROL)
			return true;
	return false;
}

static void close_table(struct task *task, struct cap_table *table, enum cap_kind kind)
{
	u64 i;

	for (i = 0; i < table->nr; i++)
		(void)handle_close(task, i, kind);
	for (i = 1; i < table->nr / CAP_CHUNK; i++)
		kfree(table->more[i - 1]);
	if (table->more)
		kpage_free(table->more, 0);
	table->more = NULL;
	table->nr = 0;
}

void handle_close_all(struct task *task)
{
	close_table(task, &task->files, CAP_FILE);
	close_table(task, &task->handles, CAP_NONE);
}

/* Reserved descriptors stay the parent's. Context: its lock held, room in the child's table. */
static void copy_table(struct cap_table *child, struct cap_table *parent, u32 rights)
{
	struct cap cap;
	u64 i;

	for (i = 0; i < parent->nr; i++) {
		cap = *slot_of(parent, i);
		if (cap.kind == CAP_NONE || cap.kind == CAP_RESERVED ||
		    (cap.kind == CAP_CONTROL && !(cap.rights & CAP_INHERIT)))
			continue;
		cap.rights &= rights;
		*slot_of(child, i) = cap_dup(cap);
	}
}

static int copy_growing(struct task *child, struct cap_table *to, struct task *parent,
			struct cap_table *from, u32 rights)
{
	int err = 0;

	while (!err) {
		spin_lock(&parent->handle_lock);
		if (to->nr >= from->nr) {
			copy_table(to, from, rights);
			spin_unlock(&parent->handle_lock);
			return 0;
		}
		spin_unlock(&parent->handle_lock);
		err = grow(child, to);
	}
	return err == -EMFILE ? -ENOMEM : err; /* only a server has that many */
}

int handle_copy_all(struct task *child, struct task *parent)
{
	int err = copy_growing(child, &child->files, parent, &parent->files, ~0u);

	return err ? err :
		     copy_growing(child, &child->handles, parent, &parent->handles, 0);
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

s64 fd_reserve(struct task *task, u64 from, bool cloexec)
{
	return install_from(task, from,
			    (struct cap){.kind = CAP_RESERVED, .rights = cloexec ? CAP_CLOEXEC : 0});
}

void fd_set(struct task *task, u64 fd, struct cap cap)
{
	struct cap *slot;

	spin_guard(&task->handle_lock);
	slot = slot_of(&task->files, fd);
	ASSERT(slot->kind == CAP_RESERVED, "descriptor %lu is set but was not reserved", fd);
	cap.rights = slot->rights;
	if (cap.kind == CAP_NONE)
		cap = (struct cap){0};
	*slot = cap;
	if (cap.kind == CAP_NONE)
		task->files.free_from = MIN(task->files.free_from, (u32)fd);
}

int fd_replace(struct task *task, u64 fd, struct cap cap)
{
	struct cap old = cap;
	int err = fd < MAX_HANDLES ? 0 : -EBADF;

	while (!err && fd >= READ_ONCE(task->files.nr))
		err = grow(task, &task->files);
	if (!err) {
		spin_guard(&task->handle_lock);
		if (slot_of(&task->files, fd)->kind == CAP_RESERVED) {
			err = -EBUSY;
		} else {
			old = *slot_of(&task->files, fd);
			*slot_of(&task->files, fd) = cap;
		}
	}
	cap_put(old);
	return err;
}

int fd_cloexec(struct task *task, u64 fd, int set)
{
	struct cap *slot;
	int old;

	spin_guard(&task->handle_lock);
	slot = fd < task->files.nr ? slot_of(&task->files, fd) : NULL;
	if (!slot || slot->kind != CAP_FILE)
		return -EBADF;
	old = (slot->rights & CAP_CLOEXEC) != 0;
	if (set >= 0)
		slot->rights = set ? slot->rights | CAP_CLOEXEC : slot->rights & ~CAP_CLOEXEC;
	return old;
}

void fd_close_on_exec(struct task *task)
{
	u64 fd;

	for (fd = 0; fd < READ_ONCE(task->files.nr); fd++)
		if (fd_cloexec(task, fd, -1) == 1)
			(void)handle_close(task, fd, CAP_FILE);
}
