/* read_write.c - reading and writing through descriptors (see file.h). */
#include "arch/uaccess.h"
#include "user/abi.h"
#include "kernel/console.h"
#include "kernel/errno.h"
#include "kernel/file.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "kernel/syscall.h"
#include "kernel/thread.h"
#include "mm/object.h"
#include "mm/page_alloc.h"

#define IOV_LIMIT 1024
#define MAX_RW    0x7ffff000ull

#define SEEK_SET 0
#define SEEK_END 2

static int set_size(struct file *file, u64 size)
{
	struct ipc_call call = {.label = FS_TRUNCATE, .words = {file->id, size}};

	return fs_call(file->fs, &call);
}

/* One step of at most a page, from the file to the kernel's buffer. Bytes, 0 at the end. */
static s64 read_chunk(struct file *file, void *page, u64 len)
{
	struct ipc_call call = {
		.label = FS_READ,
		.words = {file->id, file->offset, len},
		.recv_page = page,
		.recv_cap = (u32)len,
	};
	u64 size;
	int err;

	if (file->kind == FILE_STREAM) {
		err = fs_call(file->fs, &call);
		return err ? err : (s64)call.recv_len;
	}
	size = READ_ONCE(file->object->size);
	if (file->offset >= size)
		return 0;
	len = MIN(len, size - file->offset);
	err = object_copy(file->object, file->offset, page, len, false);
	return err == -ENXIO ? 0 : err ? err : (s64)len;
}

static s64 write_chunk(struct file *file, void *page, u64 len)
{
	int err = 0;

	if (file->kind == FILE_CONSOLE)
		return (s64)console_write(page, len);
	if (file->offset + len > READ_ONCE(file->object->size))
		err = set_size(file, file->offset + len);
	if (!err)
		err = object_copy(file->object, file->offset, page, len, true);
	return err ? err : (s64)len;
}

static s64 read_file(struct file *file, u64 buf, u64 len)
{
	void *page = kpage_alloc(0);
	s64 done = 0, n = 0;

	if (!page)
		return -ENOMEM;
	while ((u64)done < len && !thread_killed(current)) {
		n = read_chunk(file, page, MIN(len - (u64)done, PAGE_SIZE));
		if (n > 0 && copy_to_user(buf + (u64)done, page, (u64)n))
			n = -EFAULT;
		if (n <= 0)
			break;
		file->offset += (u64)n;
		done += n;
	}
	kpage_free(page, 0);
	return done ? done : n;
}

s64 sys_read(u64 fd, u64 buf, u64 len)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);

	if (!file || (file->flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	if (file->kind == FILE_CONSOLE)
		return console_read(buf, MIN(len, MAX_RW));
	return read_file(file, buf, MIN(len, MAX_RW));
}

/* What is written, gathered into a page: a line of several pieces goes out in one. */
struct writer {
	struct file *file;
	void *page;
	u64 fill, left;
	s64 done;
};

struct iovec {
	u64 base, len;
};

static int write_out(struct writer *w)
{
	s64 n = w->fill ? write_chunk(w->file, w->page, w->fill) : 0;

	w->fill = 0;
	if (n < 0)
		return (int)n;
	w->file->offset += (u64)n;
	w->done += n;
	return 0;
}

static int write_piece(struct writer *w, struct iovec piece)
{
	int err = 0;
	u64 n;

	piece.len = MIN(piece.len, w->left);
	w->left -= piece.len;
	for (; piece.len && !err; piece.base += n, piece.len -= n) {
		if (thread_killed(current))
			return -EINTR;
		n = MIN(piece.len, PAGE_SIZE - w->fill);
		if (copy_from_user((u8 *)w->page + w->fill, piece.base, n))
			return -EFAULT;
		w->fill += n;
		err = w->fill == PAGE_SIZE ? write_out(w) : 0;
	}
	return err;
}

/* The one piece there is, or `count` that user_iov tells of. At most MAX_RW bytes, as Linux. */
static s64 write_pieces(u64 fd, const struct iovec *one, u64 user_iov, u64 count)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);
	struct writer w = {.file = file, .left = MAX_RW};
	struct iovec piece;
	int err = 0, last;
	u64 i;

	if (!file || file->kind == FILE_STREAM ||
	    (file->kind == FILE_OBJECT && !file_writable(file)))
		return -EBADF;
	w.page = kpage_alloc(0);
	if (!w.page)
		return -ENOMEM;
	if (file->flags & O_APPEND)
		file->offset = READ_ONCE(file->object->size);
	for (i = 0; i < count && !err; i++) {
		if (one)
			piece = *one;
		else if (copy_from_user(&piece, user_iov + i * sizeof(piece), sizeof(piece)))
			err = -EFAULT;
		if (!err)
			err = write_piece(&w, piece);
	}
	last = write_out(&w); /* also what came before a fault */
	kpage_free(w.page, 0);
	return w.done ? w.done : err ? err : last;
}

s64 sys_write(u64 fd, u64 buf, u64 len)
{
	return write_pieces(fd, &(struct iovec){buf, len}, 0, 1);
}

s64 sys_writev(u64 fd, u64 user_iov, u64 count)
{
	if (count > IOV_LIMIT)
		return -EINVAL;
	return write_pieces(fd, NULL, user_iov, count);
}

s64 sys_lseek(u64 fd, u64 offset, u64 whence)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);
	s64 at;

	if (!file)
		return -EBADF;
	if (file->kind == FILE_CONSOLE)
		return -ESPIPE;
	if (whence > SEEK_END || (whence == SEEK_END && file->kind != FILE_OBJECT))
		return -EINVAL;
	at = whence == SEEK_SET ? 0 : (s64)file->offset;
	if (whence == SEEK_END)
		at = (s64)READ_ONCE(file->object->size);
	if (__builtin_add_overflow(at, (s64)offset, &at) || at < 0)
		return -EINVAL;
	file->offset = (u64)at;
	return at;
}

s64 sys_ftruncate(u64 fd, u64 size)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);

	if (!file)
		return -EBADF;
	if (file->kind != FILE_OBJECT || !file_writable(file) || (s64)size < 0)
		return -EINVAL;
	return set_size(file, size);
}
