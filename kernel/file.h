/*
 * file.h - open files: the kernel keeps descriptors, everything else is the file server's.
 *
 * A file with a memory object is read, written and mapped through the object's pages, so all ways
 * see the same bytes. A stream (generated text) is read by asking the server.
 */
#ifndef KERNEL_FILE_H
#define KERNEL_FILE_H

#include "kernel/types.h"

struct endpoint;
struct task;
struct vm_object;

enum file_kind { FILE_CONSOLE, FILE_OBJECT, FILE_STREAM };

struct file {
	u32 refcount; /* atomic: descriptors and mappings */
	/* Constant. */
	enum file_kind kind;
	u32 flags;           /* open(2)'s */
	struct endpoint *fs; /* a reference */
	u64 id;              /* the server's name for it */
	u64 inode;
	struct vm_object *object;
	/* Racy between threads, as POSIX lets it be. */
	u64 offset;
};

/* Ask a file server. The new file, or an error in *err (-ENOENT, -EIO: no server, ...). May sleep. */
struct file *file_open(struct endpoint *fs, const char *path, u32 flags, u32 mode, int *err);
struct file *file_open_console(void);
struct file *file_get(struct file *file);
/* The last reference tells the server. May sleep. */
void file_put(struct file *file);

/* The task's table. */
s64 fd_install(struct task *task, struct file *file);
struct file *fd_lookup(struct task *task, u64 fd); /* a reference, or NULL */
void fd_close_all(struct task *task);
void fd_copy_all(struct task *child, struct task *parent);

s64 sys_open(u64 path, u64 flags, u64 mode);
s64 sys_close(u64 fd);
s64 sys_read(u64 fd, u64 buf, u64 len);
s64 sys_write(u64 fd, u64 buf, u64 len);
s64 sys_writev(u64 fd, u64 iov, u64 count);
s64 sys_lseek(u64 fd, s64 offset, u64 whence);
s64 sys_fstat(u64 fd, u64 buf);
s64 sys_ioctl(u64 fd, u64 request, u64 arg);
s64 sys_ftruncate(u64 fd, u64 size);
s64 sys_unlink(u64 path);

#endif
