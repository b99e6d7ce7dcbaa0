/* pipe.c - pipes (see pipe.h). */
#include "kernel/pipe.h"
#include "arch/uaccess.h"
#include "kernel/file.h"
#include "kernel/lib.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"

#define PIPE_PAGES 16
#define PIPE_SIZE  (PIPE_PAGES * PAGE_SIZE)
#define SIGPIPE    13

static const struct lock_class pipe_class = {"pipe", RANK_PIPE, false};
static u32 pages_in_use; /* by all pipes; atomic */

struct pipe {
	u32 refcount; /* atomic: open ends */
	struct mutex lock;
	struct wait_queue wait; /* readers and writers */
	/* Atomic: a close must not wait for a reader whose page fault holds the lock. */
	bool has_reader, has_writer;
	u32 events; /* counts reads and closes */
	/* Under lock; those who wait look without it and then look again. */
	u64 written, read;     /* bytes; both 0 when the pipe is empty */
	u8 *pages[PIPE_PAGES]; /* of [read, written), by place modulo PIPE_SIZE */
};

static u8 **page_at(struct pipe *pipe, u64 place)
{
	return &pipe->pages[place / PAGE_SIZE % PIPE_PAGES];
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void drop_page(u8 **page)
{
	if (!*page)
		return;
	kpage_free(*page, 0);
	*page = NULL;
	(void)atomic_sub_fetch(&pages_in_use, 1);
}

u64 pipe_footprint(const struct pipe *pipe)
{
	u64 n = 0, i;

	for (i = 0; i < PIPE_PAGES; i++)
		n += READ_ONCE(pipe->pages[i]) != NULL;
	return n;
}

static void drop_pages(struct pipe *pipe)
{
	unsigned i;

	for (i = 0; i < PIPE_PAGES; i++)
		drop_page(&pipe->pages[i]);
}

/* Memory for [written, written + len); -EAGAIN: not before somebody has read. */
static int make_room(struct pipe *pipe, u64 len)
{
	bool empty = pipe->written == 0;
	u64 at;

	if (pipe->written - pipe->read + len > PIPE_SIZE)
		return -EAGAIN;
	for (at = ALIGN_DOWN(pipe->written, PAGE_SIZE); at < pipe->written + len; at += PAGE_SIZE) {
		u8 **page = page_at(pipe, at);

		if (*page)
			continue;
		if (!empty && READ_ONCE(pages_in_use) >= mem_total_pages / 16)
			return -EAGAIN;
		*page = kpage_alloc(0);
		if (!*page)
			return empty ? -ENOMEM : -EAGAIN;
		atomic_inc(&pages_in_use);
	}
	return 0;
}

/* ---- Reading and writing --------------------------------------------------------------------- */

/* Bytes up to a page's end or the last one. Context: lock held. */
static s64 read_some(struct pipe *pipe, u64 user_buf, u64 len)
{
	u64 in_page = pipe->read % PAGE_SIZE;

	len = MIN(len, MIN(pipe->written - pipe->read, PAGE_SIZE - in_page));
	if (copy_to_user(user_buf, *page_at(pipe, pipe->read) + in_page, len))
		return -EFAULT;
	pipe->read += len;
	if (pipe->read == pipe->written) {
		pipe->read = pipe->written = 0;
		drop_pages(pipe);
	} else if (pipe->read % PAGE_SIZE == 0 && pipe->written - pipe->read <= PIPE_SIZE - PAGE_SIZE) {
		drop_page(page_at(pipe, pipe->read - PAGE_SIZE));
	}
	atomic_inc(&pipe->events);
	wake_up_all(&pipe->wait);
	return (s64)len;
}

s64 pipe_read(struct pipe *pipe, u64 user_buf, u64 len, bool wait)
{
	s64 done = 0, n = 0;
	int err = mutex_lock_killable(&pipe->lock);

	while (!err && len && pipe->written == pipe->read && READ_ONCE(pipe->has_writer)) {
		mutex_unlock(&pipe->lock);
		if (!wait)
			return -EAGAIN;
		err = wait_event_killable(&pipe->wait, READ_ONCE(pipe->written) ||
							       !READ_ONCE(pipe->has_writer));
		if (!err)
			err = mutex_lock_killable(&pipe->lock);
	}
	if (err)
		return err;
	for (; (u64)done < len && pipe->written != pipe->read; done += n) {
		n = read_some(pipe, user_buf + (u64)done, len - (u64)done);
		if (n < 0)
			break;
	}
	mutex_unlock(&pipe->lock);
	return done ? done : n;
}

/* Context: lock held, room made. */
static void put_bytes(struct pipe *pipe, const u8 *data, u64 len)
{
	u64 in_page, n;

	ASSERT(pipe->written - pipe->read + len <= PIPE_SIZE, "a pipe holds %lu bytes and gets %lu",
	       pipe->written - pipe->read, len);
	for (; len; data += n, len -= n) {
		in_page = pipe->written % PAGE_SIZE;
		n = MIN(len, PAGE_SIZE - in_page);
		memcpy(*page_at(pipe, pipe->written) + in_page, data, n);
		pipe->written += n;
	}
	wake_up_all(&pipe->wait);
}

s64 pipe_write(struct pipe *pipe, const void *data, u64 len, bool wait)
{
	u32 seen;
	int err;

	for (;;) {
		err = mutex_lock_killable(&pipe->lock);
		if (err)
			return err;
		seen = load_acquire(&pipe->events); /* before the look at what they count */
		err = READ_ONCE(pipe->has_reader) ? make_room(pipe, len) : -EPIPE;
		if (!err)
			put_bytes(pipe, data, len);
		mutex_unlock(&pipe->lock);
		if (err == -EPIPE)
			(void)task_kill(current->task->pid, SIGPIPE);
		if (err != -EAGAIN || !wait)
			return err ? err : (s64)len;
		err = wait_event_killable(&pipe->wait, READ_ONCE(pipe->events) != seen);
		if (err)
			return err;
	}
}

/* ---- Making and closing ---------------------------------------------------------------------- */

int pipe_open(u32 flags, struct file **reader, struct file **writer)
{
	struct pipe *pipe = kzalloc(sizeof(*pipe));

	*reader = file_alloc(FILE_PIPE, flags);
	*writer = file_alloc(FILE_PIPE, flags | O_WRONLY);
	if (!pipe || !*reader || !*writer) {
		kfree(pipe);
		file_put(*reader);
		file_put(*writer);
		return -ENOMEM;
	}
	mutex_init(&pipe->lock, &pipe_class);
	wait_queue_init(&pipe->wait);
	pipe->refcount = 2;
	pipe->has_reader = pipe->has_writer = true;
	(*reader)->pipe = (*writer)->pipe = pipe;
	return 0;
}

void pipe_close(struct pipe *pipe, bool writer)
{
	WRITE_ONCE(*(writer ? &pipe->has_writer : &pipe->has_reader), false);
	atomic_inc(&pipe->events);
	wake_up_all(&pipe->wait);
	if (!atomic_dec_and_test(&pipe->refcount))
		return;
	drop_pages(pipe);
	kfree(pipe);
}

#define PIPE_FLAGS (O_CLOEXEC | O_NONBLOCK)

static s64 install_pipe(u64 user_fds, const s64 fds[2], u32 flags)
{
	s32 numbers[2] = {(s32)fds[0], (s32)fds[1]};
	struct file *reader, *writer;
	int err = pipe_open(flags & O_NONBLOCK, &reader, &writer);

	if (err)
		return err;
	if (copy_to_user(user_fds, numbers, sizeof(numbers))) {
		file_put(reader);
		file_put(writer);
		return -EFAULT;
	}
	fd_set(current->task, (u64)fds[0], (struct cap){CAP_FILE, 0, reader, 0});
	fd_set(current->task, (u64)fds[1], (struct cap){CAP_FILE, 0, writer, 0});
	return 0;
}

s64 sys_pipe2(u64 user_fds, u64 flags)
{
	s64 fds[2], err;
	int i;

	if (flags & ~(u64)PIPE_FLAGS)
		return -EINVAL;
	for (i = 0, err = 0; i < 2 && err >= 0; i++)
		err = fds[i] = fd_reserve(current->task, 0, flags & O_CLOEXEC);
	if (err >= 0)
		err = install_pipe(user_fds, fds, (u32)flags);
	while (err < 0 && i-- > 0)
		if (fds[i] >= 0)
			fd_set(current->task, (u64)fds[i], (struct cap){0});
	return err;
}

s64 sys_pipe(u64 user_fds)
{
	return sys_pipe2(user_fds, 0);
}
