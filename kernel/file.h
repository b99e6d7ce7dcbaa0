/*
 * file.h - open files: the kernel keeps descriptors, everything else is the file server's.
 *
 * A file with a memory object is read, written and mapped through the object's pages, so all ways
 * see the same bytes. A stream (generated text) is read by asking the server.
 */
#pragma once

#include "kernel/guard.h"
#include "kernel/types.h"

struct endpoint;
struct ipc_call;
struct task;
struct vm_object;

#define O_WRONLY  1u
#define O_ACCMODE 3u
#define O_APPEND  02000u

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

/* Ask a file server. The new file, or NULL and *err (-ENOENT, -EIO: no server, ...). May sleep. */
struct file *file_open(struct endpoint *fs, const char *path, u32 flags, u32 mode, int *err);
struct file *file_open_console(void);
/* Another reference; file may be NULL. */
struct file *file_get(struct file *file);
/* The last reference tells the server. May sleep; file may be NULL. */
void file_put(struct file *file);
/* For `struct file *file __cleanup(file_cleanup) = ...`. */
void file_cleanup(struct file **file);

/* A new descriptor for file, taking over the reference; -EMFILE. */
s64 fd_install(struct task *task, struct file *file);
/* What a descriptor of the current task names: a reference, or NULL. */
struct file *fd_lookup(u64 fd);

/* A request to a file server on the kernel's behalf; its answer's error, or 0. May sleep. */
int fs_call(struct endpoint *fs, struct ipc_call *call);

/* Opened for writing? */
bool file_writable(const struct file *file);
