/*
 * file.h - open files: the kernel keeps descriptors, everything else is the file server's.
 *
 * A file with a memory object is read, written and mapped through the object's pages, so all ways
 * see the same bytes. A stream (generated text) is read by asking the server. A pipe (pipe.h) is
 * the kernel's own.
 *
 * Order of writers: a write by system call holds the object's write_lock from the look at the size
 * to its last byte, so two writers do not mix, and O_APPEND finds the end nobody else is at. A file
 * grows by FS_EXTEND, "at least so long", never by a size that was right a moment ago. A reader
 * sees the new size when the bytes are there (file_size), as with Linux's i_size.
 */
#pragma once

#include "kernel/guard.h"
#include "kernel/mutex.h"
#include "kernel/types.h"

struct endpoint;
struct ipc_call;
struct pipe;
struct task;
struct vm_object;

#define O_WRONLY   1u
#define O_ACCMODE  3u
#define O_APPEND   02000u
#define O_NONBLOCK 04000u
#define O_CLOEXEC  02000000u

#define O_SETTABLE (O_APPEND | O_NONBLOCK) /* what F_SETFL changes */

enum file_kind { FILE_CONSOLE, FILE_OBJECT, FILE_STREAM, FILE_PIPE };

struct file {
	u32 refcount; /* atomic: descriptors and mappings */
	/* Constant. */
	enum file_kind kind;
	struct endpoint *fs; /* a reference */
	u64 id;              /* the server's name for it */
	u64 inode;
	u32 mode; /* stat(2)'s */
	struct vm_object *object;
	struct pipe *pipe;
	/* Atomic. */
	u32 flags; /* open(2)'s O_ACCMODE and O_SETTABLE, which may change */
	/* One read, write or seek of this open file at a time (Linux: f_pos_lock). */
	struct mutex pos_lock;
	u64 offset;
};

/*
 * Ask a file server. The new file, or NULL and *err (-ENOENT, -EIO: no server, ...). What the
 * server has opened is closed again if the kernel cannot use it. May sleep.
 */
struct file *file_open(struct endpoint *fs, const char *path, u32 flags, u32 mode, int *err);
struct file *file_open_console(void);
/* A file of that kind with one reference and nothing in it; NULL when memory is short. */
struct file *file_alloc(enum file_kind kind, u32 flags);
/* Another reference; file may be NULL. */
struct file *file_get(struct file *file);
/* The last reference tells the server. May sleep; file may be NULL. */
void file_put(struct file *file);
/* For `struct file *file __cleanup(file_cleanup) = ...`. */
void file_cleanup(struct file **file);

/* A new descriptor for file, taking over the reference; -EMFILE, -ENOMEM. */
s64 fd_install(struct task *task, struct file *file);
/* What a descriptor of the current task names: a reference, or NULL. */
struct file *fd_lookup(u64 fd);

/* A request to a file server on the kernel's behalf; its answer's error, or 0. May sleep. */
int fs_call(struct endpoint *fs, struct ipc_call *call);

/* Opened for reading, for writing? */
bool file_readable(const struct file *file);
bool file_writable(const struct file *file);
/* How long the file is for those who read it: without bytes that are being written right now. */
u64 file_size(const struct file *file);
