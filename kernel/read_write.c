/*
 * read_write.c - reading and writing through descriptors (see file.h).
 *
 * A transfer goes over the pieces that the caller names, through a kernel page. Locks, in this
 * order: the open file's offset, if the call uses it; the object's write_lock, if it writes to one.
 * Both are given up by a killed thread: user mode can stall whoever holds them, by its page faults.
 */
#include "arch/uaccess.h"
#include "user/abi.h"
#include "kernel/console.h"
#include "kernel/errno.h"
#include "kernel/file.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "kernel/pipe.h"
#include "kernel/syscall.h"
#include "kernel/thread.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/reclaim.h"

#define IOV_LIMIT 1024
#define MAX_RW    0x7ffff000ull

#define SEEK_SET 0
#define SEEK_END 2

struct iovec {
	u64 base, len;
};

/* One call's work: `count` pieces, at user_iov or the one there is, and how far it has come. */
struct transfer {
	struct file *file;
	const struct iovec *one;
	u64 user_iov, count;
	u64 pos;  /* in the file */
	u64 left; /* at most MAX_RW bytes in all, as Linux */
	s64 done;
	u8 *page;
	u64 fill; /* a write's bytes in the page that have not gone out */
};

static bool has_position(const struct file *file)
{
	return file->kind == FILE_OBJECT || file->kind == FILE_STREAM;
}

#define SIZE_TRIES 8
#define SIZE_ORDER 9 /* reclaim up to so many pages for a try: what one batch frees */

/* A server takes memory for a file but cannot wait for any: its client makes some, and asks again. */
static int set_size(struct file *file, u64 label, u64 size)
{
	int err = -ENOMEM, tries;

	for (tries = 0; err == -ENOMEM && tries < SIZE_TRIES; tries++) {
		struct ipc_call call = {.label = label, .words = {file->id, size}};

		if (tries && !try_to_free_pages(SIZE_ORDER))
			break;
		err = fs_call(file->fs, &call);
	}
	return err == -ENOMEM ? -ENOSPC : err;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* One step of at most a page, from the file to the kernel's buffer. Bytes, 0 at the end. */
static s64 read_chunk(struct transfer *t, u64 len)
{
	struct file *file = t->file;
	struct ipc_call call = {
		.label = FS_READ,
		.words = {file->id, t->pos, len},
		.recv_page = t->page,
		.recv_cap = (u32)len,
	};
	u64 size;
	int err;

	if (file->kind == FILE_STREAM) {
		err = fs_call(file->fs, &call);
		return err ? err : (s64)call.recv_len;
	}
	size = file_size(file);
	if (t->pos >= size)
		return 0;
	len = MIN(len, size - t->pos);
	err = object_copy(file->object, t->pos, t->page, len, false);
	return err == -ENXIO ? 0 : err ? err : (s64)len;
}

/* Some bytes to user memory. Only the first read of a call waits for bytes to come. */
static s64 read_some(struct transfer *t, u64 buf, u64 len)
{
	bool wait = !t->done && !(READ_ONCE(t->file->flags) & O_NONBLOCK);
	s64 n;

	if (t->file->kind == FILE_CONSOLE)
		return console_read(buf, len, wait);
	if (t->file->kind == FILE_PIPE)
		return pipe_read(t->file->pipe, buf, len, wait);
	n = read_chunk(t, MIN(len, PAGE_SIZE));
	return n > 0 && copy_to_user(buf, t->page, (u64)n) ? -EFAULT : n;
}

/* 1: there is no more to read now. */
static int read_piece(struct transfer *t, struct iovec piece)
{
	s64 n;

	piece.len = MIN(piece.len, t->left);
	for (; piece.len; piece.base += (u64)n, piece.len -= (u64)n) {
		if (thread_killed(current))
			return -EINTR;
		n = read_some(t, piece.base, piece.len);
		if (n <= 0)
			return n ? (int)n : 1;
		t->pos += (u64)n;
		t->left -= (u64)n;
		t->done += n;
	}
	return 0;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/*
 * The file is made long enough, then gets the bytes. Somebody may cut it short in between (open
 * with O_TRUNC takes no lock here): it is made long enough again, so a good write never fails.
 */
static int write_object(struct transfer *t)
{
	struct vm_object *object = t->file->object;
	u64 end;
	int err;

	if (__builtin_add_overflow(t->pos, t->fill, &end) || (s64)end < 0)
		return -EINVAL;
	mutex_assert_held(&object->write_lock);
	do {
		err = 0;
		if (end > READ_ONCE(object->size)) {
			WRITE_ONCE(object->growing_from, READ_ONCE(object->size));
			err = set_size(t->file, FS_EXTEND, end);
		}
		if (!err)
			err = object_copy(object, t->pos, t->page, t->fill, true);
	} while (err == -ENXIO);
	store_release(&object->growing_from, ~0ull);
	return err;
}

static s64 write_chunk(struct transfer *t)
{
	struct file *file = t->file;
	int err;

	if (file->kind == FILE_CONSOLE)
		return (s64)console_write((const char *)t->page, t->fill);
	if (file->kind == FILE_PIPE)
		return pipe_write(file->pipe, t->page, t->fill,
				  !(READ_ONCE(file->flags) & O_NONBLOCK));
	err = write_object(t);
	return err ? err : (s64)t->fill;
}

static int write_out(struct transfer *t)
{
	s64 n = t->fill ? write_chunk(t) : 0;

	t->fill = 0;
	if (n < 0)
		return (int)n;
	t->pos += (u64)n;
	t->done += n;
	return 0;
}

/* What is written is gathered into a page: a line of several pieces goes out in one. */
static int write_piece(struct transfer *t, struct iovec piece)
{
	int err = 0;
	u64 n;

	piece.len = MIN(piece.len, t->left);
	t->left -= piece.len;
	for (; piece.len && !err; piece.base += n, piece.len -= n) {
		if (thread_killed(current))
			return -EINTR;
		n = MIN(piece.len, PAGE_SIZE - t->fill);
		if (copy_from_user(t->page + t->fill, piece.base, n))
			return -EFAULT;
		t->fill += n;
		err = t->fill == PAGE_SIZE ? write_out(t) : 0;
	}
	return err;
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* All pieces. Bytes, or an error if there are none. */
static s64 transfer_pieces(struct transfer *t, int (*one)(struct transfer *, struct iovec))
{
	struct iovec piece;
	int err = 0, last;
	u64 i;

	t->page = kpage_alloc(0);
	if (!t->page)
		return -ENOMEM;
	for (i = 0; i < t->count && !err; i++) {
		if (t->one)
			piece = *t->one;
		else if (copy_from_user(&piece, t->user_iov + i * sizeof(piece), sizeof(piece)))
			err = -EFAULT;
		else if ((s64)piece.len < 0)
			err = -EINVAL;
		if (!err)
			err = one(t, piece);
	}
	last = write_out(t); /* also what came before a fault */
	kpage_free(t->page, 0);
	return t->done ? t->done : err < 0 ? err : last;
}

static s64 read_file(struct transfer *t)
{
	return transfer_pieces(t, read_piece);
}

static s64 write_file(struct transfer *t)
{
	struct vm_object *object = t->file->object;
	struct mutex *held __cleanup(mutex_cleanup) = NULL;
	int err;

	if (object) {
		err = mutex_lock_killable(&object->write_lock);
		if (err)
			return err;
		held = &object->write_lock;
		if (READ_ONCE(t->file->flags) & O_APPEND)
			t->pos = READ_ONCE(object->size);
	}
	return transfer_pieces(t, write_piece);
}

/* At the open file's own offset, which moves in the same step. */
static s64 transfer_here(struct transfer *t, s64 (*fn)(struct transfer *))
{
	struct file *file = t->file;
	s64 n;

	if (!has_position(file))
		return fn(t);
	n = mutex_lock_killable(&file->pos_lock);
	if (n)
		return n;
	t->pos = file->offset;
	n = fn(t);
	file->offset = t->pos;
	mutex_unlock(&file->pos_lock);
	return n;
}

/* At a place that the call names; the offset stays. */
static s64 transfer_at(struct transfer *t, u64 pos, s64 (*fn)(struct transfer *))
{
	if ((s64)pos < 0)
		return -EINVAL;
	if (!has_position(t->file))
		return -ESPIPE;
	t->pos = pos;
	return fn(t);
}

/* pos: where; NULL: at the open file's own offset. */
static s64 do_read(u64 fd, const struct iovec *one, u64 iov, u64 count, const u64 *pos)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);
	struct transfer t = {.file = file, .one = one, .user_iov = iov, .count = count,
			     .left = MAX_RW};

	if (!file || !file_readable(file))
		return -EBADF;
	if (count > IOV_LIMIT)
		return -EINVAL;
	return pos ? transfer_at(&t, *pos, read_file) : transfer_here(&t, read_file);
}

static s64 do_write(u64 fd, const struct iovec *one, u64 iov, u64 count, const u64 *pos)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);
	struct transfer t = {.file = file, .one = one, .user_iov = iov, .count = count,
			     .left = MAX_RW};

	if (!file || !file_writable(file) || file->kind == FILE_STREAM)
		return -EBADF;
	if (count > IOV_LIMIT)
		return -EINVAL;
	return pos ? transfer_at(&t, *pos, write_file) : transfer_here(&t, write_file);
}

/* ---- System calls ---------------------------------------------------------------------------- */

s64 sys_read(u64 fd, u64 buf, u64 len)
{
	return do_read(fd, &(struct iovec){buf, len}, 0, 1, NULL);
}

s64 sys_readv(u64 fd, u64 iov, u64 count)
{
	return do_read(fd, NULL, iov, count, NULL);
}

s64 sys_pread64(u64 fd, u64 buf, u64 len, u64 pos)
{
	return do_read(fd, &(struct iovec){buf, len}, 0, 1, &pos);
}

s64 sys_preadv(u64 fd, u64 iov, u64 count, u64 pos)
{
	return do_read(fd, NULL, iov, count, &pos);
}

s64 sys_write(u64 fd, u64 buf, u64 len)
{
	return do_write(fd, &(struct iovec){buf, len}, 0, 1, NULL);
}

s64 sys_writev(u64 fd, u64 iov, u64 count)
{
	return do_write(fd, NULL, iov, count, NULL);
}

s64 sys_pwrite64(u64 fd, u64 buf, u64 len, u64 pos)
{
	return do_write(fd, &(struct iovec){buf, len}, 0, 1, &pos);
}

s64 sys_pwritev(u64 fd, u64 iov, u64 count, u64 pos)
{
	return do_write(fd, NULL, iov, count, &pos);
}

s64 sys_lseek(u64 fd, u64 offset, u64 whence)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);
	s64 at;

	if (!file)
		return -EBADF;
	if (!has_position(file))
		return -ESPIPE;
	if (whence > SEEK_END || (whence == SEEK_END && file->kind != FILE_OBJECT))
		return -EINVAL;
	if (mutex_lock_killable(&file->pos_lock))
		return -EINTR;
	at = whence == SEEK_SET ? 0 : whence == SEEK_END ? (s64)file_size(file) : (s64)file->offset;
	if (__builtin_add_overflow(at, (s64)offset, &at) || at < 0)
		at = -EINVAL;
	else
		file->offset = (u64)at;
	mutex_unlock(&file->pos_lock);
	return at;
}

s64 sys_ftruncate(u64 fd, u64 size)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);
	int err;

	if (!file)
		return -EBADF;
	if (file->kind != FILE_OBJECT || !file_writable(file) || (s64)size < 0)
		return -EINVAL;
	err = mutex_lock_killable(&file->object->write_lock);
	if (err)
		return err;
	err = set_size(file, FS_TRUNCATE, size);
	mutex_unlock(&file->object->write_lock);
	return err;
}
