/* file.c - descriptors, and reading and writing through them (see file.h). */
#include "kernel/file.h"
#include "arch/uaccess.h"
#include "user/abi.h"
#include "kernel/console.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"

#define PATH_LIMIT 256
#define IOV_LIMIT  1024
#define MAX_RW     0x7ffff000ull

#define O_ACCMODE 3u
#define O_WRONLY  1u
#define O_APPEND  02000u

#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2

#define TIOCGWINSZ 0x5413

/* ---- Asking the server ----------------------------------------------------------------------- */

static int fs_call(struct endpoint *fs, struct ipc_call *call)
{
	int err;

	if (!fs)
		return -EIO;
	call->badge = IPC_BADGE_KERNEL;
	err = ipc_call(fs, call);
	if (err)
		return err;
	if ((s64)call->label < 0 && (s64)call->label > -4096)
		return (int)call->label;
	return call->label ? -EIO : 0;
}

/* Closing must reach the server even from a thread that was killed. */
static void fs_close(struct endpoint *fs, u64 id)
{
	struct ipc_call call = {.label = FS_CLOSE, .words = {id}, .uninterrupted = true};

	(void)fs_call(fs, &call);
}

static struct file *file_from_reply(struct endpoint *fs, struct ipc_call *reply, u32 flags)
{
	struct file *file = kzalloc(sizeof(*file));

	if (!file)
		return NULL;
	file->refcount = 1;
	file->kind = reply->words[2] == FS_KIND_OBJECT ? FILE_OBJECT : FILE_STREAM;
	file->flags = flags;
	file->fs = endpoint_get(fs);
	file->id = reply->words[0];
	file->inode = reply->words[3];
	if (reply->recv_cap_ref.kind == CAP_OBJECT)
		file->object = object_get(reply->recv_cap_ref.ptr);
	return file;
}

struct file *file_open(struct endpoint *fs, const char *path, u32 flags, u32 mode, int *err)
{
	struct ipc_call call = {
		.label = FS_OPEN,
		.words = {flags, mode},
		.send_page = path,
		.send_len = (u32)strlen(path) + 1,
	};
	struct file *file;

	*err = fs_call(fs, &call);
	if (*err)
		return NULL;
	file = file_from_reply(fs, &call, flags);
	cap_put(call.recv_cap_ref);
	if (file && (file->object || file->kind != FILE_OBJECT))
		return file;
	*err = file ? -EIO : -ENOMEM; /* -EIO: the server promised an object and sent none */
	file_put(file);
	return NULL;
}

struct file *file_open_console(void)
{
	struct file *file = kzalloc(sizeof(*file));

	if (file) {
		file->refcount = 1;
		file->kind = FILE_CONSOLE;
	}
	return file;
}

struct file *file_get(struct file *file)
{
	if (file)
		atomic_inc(&file->refcount);
	return file;
}

void file_put(struct file *file)
{
	if (!file || !atomic_dec_and_test(&file->refcount))
		return;
	object_put(file->object);
	if (file->fs)
		fs_close(file->fs, file->id);
	endpoint_put(file->fs);
	kfree(file);
}

void file_cleanup(struct file **file)
{
	file_put(*file);
}

s64 fd_install(struct task *task, struct file *file)
{
	return handle_install(task, (struct cap){CAP_FILE, 0, file, 0});
}

struct file *fd_lookup(u64 fd)
{
	struct cap cap = {0};

	(void)handle_lookup(current->task, fd, CAP_FILE, &cap);
	return cap.ptr;
}

/* ---- System calls ---------------------------------------------------------------------------- */

s64 sys_open(u64 user_path, u64 flags, u64 mode)
{
	char path[PATH_LIMIT];
	s64 len = strncpy_from_user(path, user_path, sizeof(path));
	struct file *file;
	int err;

	if (len <= 0)
		return len ? len : -ENOENT;
	file = file_open(current->task->fs, path, (u32)flags, (u32)mode, &err);
	return file ? fd_install(current->task, file) : err;
}

s64 sys_close(u64 fd)
{
	return handle_close(current->task, fd, CAP_FILE);
}

s64 sys_unlink(u64 user_path)
{
	char path[PATH_LIMIT];
	s64 len = strncpy_from_user(path, user_path, sizeof(path));
	struct ipc_call call = {.label = FS_UNLINK, .send_page = path, .send_len = (u32)len + 1};

	return len < 0 ? len : fs_call(current->task->fs, &call);
}

#define AT_FDCWD (-100)

s64 sys_openat(u64 dir, u64 path, u64 flags, u64 mode)
{
	return (s32)dir == AT_FDCWD ? sys_open(path, flags, mode) : -EBADF;
}

bool file_writable(const struct file *file)
{
	return file->flags & O_ACCMODE;
}

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

	if (file->kind == FILE_CONSOLE) {
		console_write(page, len);
		return (s64)len;
	}
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
	while ((u64)done < len) {
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
	u64 fill;
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

	for (; piece.len && !err; piece.base += n, piece.len -= n) {
		n = MIN(piece.len, PAGE_SIZE - w->fill);
		if (copy_from_user((u8 *)w->page + w->fill, piece.base, n))
			return -EFAULT;
		w->fill += n;
		err = w->fill == PAGE_SIZE ? write_out(w) : 0;
	}
	return err;
}

/* user_iov 0: the one piece there is. */
static s64 write_pieces(u64 fd, struct iovec piece, u64 user_iov, u64 count)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);
	struct writer w = {.file = file};
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
		if (user_iov && copy_from_user(&piece, user_iov + i * sizeof(piece), sizeof(piece)))
			err = -EFAULT;
		else
			err = write_piece(&w, piece);
	}
	last = write_out(&w); /* also what came before a fault */
	kpage_free(w.page, 0);
	return w.done ? w.done : err ? err : last;
}

s64 sys_write(u64 fd, u64 buf, u64 len)
{
	return write_pieces(fd, (struct iovec){buf, MIN(len, MAX_RW)}, 0, 1);
}

s64 sys_writev(u64 fd, u64 user_iov, u64 count)
{
	if (count > IOV_LIMIT)
		return -EINVAL;
	return write_pieces(fd, (struct iovec){0}, user_iov, count);
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

/* Linux's struct stat on x86-64: the fields programs look at. */
struct user_stat {
	u64 dev, ino, nlink;
	u32 mode, uid, gid, pad;
	u64 rdev;
	s64 size, blksize, blocks;
	u64 times[6];
	s64 unused[3];
};

_Static_assert(sizeof(struct user_stat) == 144, "struct stat is 144 bytes on x86-64");

#define S_IFCHR 0020000u
#define S_IFREG 0100000u

s64 sys_fstat(u64 fd, u64 buf)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);
	struct user_stat st = {.nlink = 1, .blksize = PAGE_SIZE};

	if (!file)
		return -EBADF;
	st.ino = file->inode;
	st.mode = file->kind == FILE_CONSOLE ? S_IFCHR | 0620 : S_IFREG | 0644;
	if (file->kind == FILE_OBJECT) {
		st.size = (s64)READ_ONCE(file->object->size);
		st.blocks = (st.size + 511) / 512;
	}
	return copy_to_user(buf, &st, sizeof(st));
}

s64 sys_ioctl(u64 fd, u64 request, u64 arg)
{
	static const u16 winsize[4] = {24, 80, 0, 0};
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);

	if (!file)
		return -EBADF;
	if (file->kind != FILE_CONSOLE || request != TIOCGWINSZ)
		return -ENOTTY;
	return copy_to_user(arg, winsize, sizeof(winsize));
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
