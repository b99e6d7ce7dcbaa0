/* file.c - open files and their descriptors (see file.h). */
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
#define TIOCGWINSZ 0x5413

/* ---- Asking the server ----------------------------------------------------------------------- */

int fs_call(struct endpoint *fs, struct ipc_call *call)
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
