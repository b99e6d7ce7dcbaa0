/*
 * file.c - open files: asking the server, references, and what open, stat and unlink do (see
 * file.h). Descriptors as such are in descriptor.c.
 */
#include "kernel/file.h"
#include "arch/uaccess.h"
#include "user/abi.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "kernel/pipe.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/slab.h"

#define PATH_LIMIT 256
#define TIOCGWINSZ 0x5413

#define S_IFIFO 0010000u
#define S_IFCHR 0020000u

static const struct lock_class pos_class = {"file offset", RANK_FILE_POS, false};

/* ---- Asking the server ----------------------------------------------------------------------- */

/* The server counts what each of its clients holds. */
static u64 client_id(void)
{
	return current->task ? current->task->pid : 0;
}

/* A handle that comes with the answer is the caller's only if there is no error. */
static int fs_call_for_handle(struct endpoint *fs, struct ipc_call *call)
{
	int err;

	if (!fs)
		return -EIO;
	call->badge = IPC_BADGE_KERNEL;
	call->words[FS_CLIENT_WORD] = client_id();
	err = ipc_call(fs, call);
	if (!err && call->label)
		err = (s64)call->label < 0 && (s64)call->label > -4096 ? (int)call->label : -EIO;
	if (err) {
		cap_put(call->recv_cap_ref);
		call->recv_cap_ref = (struct cap){0};
	}
	return err;
}

int fs_call(struct endpoint *fs, struct ipc_call *call)
{
	int err = fs_call_for_handle(fs, call);

	if (!err)
		cap_put(call->recv_cap_ref); /* nobody asked for one */
	return err;
}

/* Closing must reach the server even from a thread that was killed. */
static void fs_close(struct endpoint *fs, u64 id)
{
	struct ipc_call call = {.label = FS_CLOSE, .words = {id}, .uninterrupted = true};

	(void)fs_call(fs, &call);
}

/* The answer's handle becomes the file's. -EIO: the server promised an object and sent none. */
static int take_reply(struct file *file, struct endpoint *fs, struct ipc_call *reply)
{
	bool object = reply->recv_cap_ref.kind == CAP_OBJECT;

	file->fs = endpoint_get(fs); /* from here on file_put closes it */
	file->id = reply->words[0];
	file->kind = reply->words[2] == FS_KIND_OBJECT ? FILE_OBJECT : FILE_STREAM;
	file->inode = reply->words[3];
	file->mode = (u32)reply->words[4];
	if (file->kind == FILE_OBJECT && object)
		file->object = reply->recv_cap_ref.ptr;
	else
		cap_put(reply->recv_cap_ref);
	return file->kind == FILE_OBJECT && !object ? -EIO : 0;
}

/* What the kernel needs comes first: once the server has opened the file, nothing can fail. */
struct file *file_open(struct endpoint *fs, const char *path, u32 flags, u32 mode, int *err)
{
	struct ipc_call call = {
		.label = FS_OPEN,
		.words = {flags, mode},
		.send_page = path,
		.send_len = (u32)strlen(path) + 1,
	};
	struct file *file = file_alloc(FILE_STREAM, flags & (O_ACCMODE | O_SETTABLE));

	*err = file ? fs_call_for_handle(fs, &call) : -ENOMEM;
	if (!*err)
		*err = take_reply(file, fs, &call);
	if (!*err)
		return file;
	file_put(file);
	return NULL;
}

/* ---- References ------------------------------------------------------------------------------ */

struct file *file_alloc(enum file_kind kind, u32 flags)
{
	struct file *file = kzalloc(sizeof(*file));

	if (!file)
		return NULL;
	file->refcount = 1;
	file->kind = kind;
	file->flags = flags;
	mutex_init(&file->pos_lock, &pos_class);
	return file;
}

struct file *file_open_console(void)
{
	struct file *file = file_alloc(FILE_CONSOLE, 2); /* O_RDWR */

	if (file)
		file->mode = S_IFCHR | 0620;
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
	if (file->pipe)
		pipe_close(file->pipe, file_writable(file));
	endpoint_put(file->fs);
	kfree(file);
}

void file_cleanup(struct file **file)
{
	file_put(*file);
}

bool file_readable(const struct file *file)
{
	return (file->flags & O_ACCMODE) != O_WRONLY;
}

bool file_writable(const struct file *file)
{
	return file->flags & O_ACCMODE;
}

/* The size first: if it counts bytes of a write that is not done, growing_from is seen as well. */
u64 file_size(const struct file *file)
{
	u64 size;

	if (file->kind != FILE_OBJECT)
		return 0;
	size = load_acquire(&file->object->size);
	return MIN(size, READ_ONCE(file->object->growing_from));
}

/* ---- System calls ---------------------------------------------------------------------------- */

/* The descriptor comes first: a file must not be made that the caller then cannot have. */
s64 sys_open(u64 user_path, u64 flags, u64 mode)
{
	char path[PATH_LIMIT];
	s64 len = strncpy_from_user(path, user_path, sizeof(path)), fd;
	struct task *task = current->task;
	struct file *file;
	int err;

	if (len <= 0)
		return len ? len : -ENOENT;
	fd = fd_reserve(task, 0, flags & O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = file_open(task->fs, path, (u32)flags, (u32)mode, &err);
	fd_set(task, (u64)fd, file ? (struct cap){CAP_FILE, 0, file, 0} : (struct cap){0});
	return file ? fd : err;
}

s64 sys_unlink(u64 user_path)
{
	char path[PATH_LIMIT];
	s64 len = strncpy_from_user(path, user_path, sizeof(path));
	struct ipc_call call = {.label = FS_UNLINK, .send_page = path, .send_len = (u32)len + 1};

	return len < 0 ? len : fs_call(current->task->fs, &call);
}

#define AT_FDCWD      (-100)
#define AT_EMPTY_PATH 0x1000u

/* There are no directories to start from: 0 if the path is absolute or starts at the root. */
static int check_dir(u64 dir, u64 user_path)
{
	char first;

	if ((s32)dir == AT_FDCWD)
		return 0;
	if (copy_from_user(&first, user_path, 1))
		return -EFAULT;
	return first == '/' ? 0 : -EBADF;
}

s64 sys_openat(u64 dir, u64 path, u64 flags, u64 mode)
{
	int err = check_dir(dir, path);

	return err ? err : sys_open(path, flags, mode);
}

/* ---- stat(2) --------------------------------------------------------------------------------- */

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

static int file_stat(const struct file *file, u64 buf)
{
	struct user_stat st = {.nlink = 1, .blksize = PAGE_SIZE};

	st.ino = file->inode;
	st.mode = file->kind == FILE_PIPE ? S_IFIFO | 0600 : file->mode;
	st.size = (s64)file_size(file);
	st.blocks = (s64)DIV_ROUND_UP((u64)st.size, 512ul);
	return copy_to_user(buf, &st, sizeof(st));
}

s64 sys_fstat(u64 fd, u64 buf)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);

	return file ? file_stat(file, buf) : -EBADF;
}

s64 sys_stat(u64 user_path, u64 buf)
{
	struct file *file __cleanup(file_cleanup) = NULL;
	char path[PATH_LIMIT];
	s64 len = strncpy_from_user(path, user_path, sizeof(path));
	int err;

	if (len < 0)
		return len;
	file = file_open(current->task->fs, path, 0, 0, &err);
	return file ? file_stat(file, buf) : err;
}

/* There are no symbolic links. */
s64 sys_lstat(u64 user_path, u64 buf)
{
	return sys_stat(user_path, buf);
}

s64 sys_newfstatat(u64 dir, u64 path, u64 buf, u64 flags)
{
	char first = '\0';
	int err;

	if ((flags & AT_EMPTY_PATH) && !copy_from_user(&first, path, 1) && !first)
		return sys_fstat(dir, buf);
	err = check_dir(dir, path);
	return err ? err : sys_stat(path, buf);
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
