/*
 * handle.h - capabilities: a task names kernel things only by small numbers in its own tables.
 *
 * A handle is a reference to an endpoint or a memory object with rights and a badge, or control of
 * the machine. It can be copied to another task in a message, by fork, and in no other way.
 * Control goes to a child only from a task that has said so before (SYS_handle_inherit). A
 * descriptor is the same for an open file, in a table of its own, as programs expect to find 0, 1
 * and 2 there.
 *
 * A table grows as it fills, up to a bound of its own task: a task that reaches it gets -EMFILE
 * and hurts nobody else. A server's handles are what all its clients have asked for, so a server
 * has more room, and counts what each client takes.
 */
#pragma once

#include "kernel/guard.h"
#include "kernel/types.h"

struct task;

#define MAX_HANDLES 1024 /* descriptors of a task; handles of one that is no server (abi.h) */
#define CAP_CHUNK   64   /* a table grows by so many */

enum cap_kind {
	CAP_NONE,
	CAP_ENDPOINT,
	CAP_OBJECT,
	CAP_FILE,
	CAP_CONTROL,  /* of the machine: policies, power, other tasks' lives; names nothing */
	CAP_RESERVED, /* a descriptor that open, dup or pipe is about to set; not to be used yet */
};

#define CAP_RECEIVE 1u /* endpoints: may receive, and mint badged copies */
#define CAP_INHERIT 2u /* control: a child gets it, too, without this right */
#define CAP_CLOEXEC 4u /* descriptors: exec closes it */

struct cap {
	enum cap_kind kind;
	u32 rights;
	void *ptr; /* one reference, owned by whoever holds the struct */
	u64 badge; /* endpoints: what the receiver sees */
};

/* Under the task's handle_lock. */
struct cap_table {
	u32 nr;        /* slots that there are */
	u32 free_from; /* no slot below this one is free */
	struct cap **more;           /* a page of pointers to chunks, NULL until needed */
	struct cap first[CAP_CHUNK]; /* most tasks need no more */
};

/* Another reference to the same thing, with the same rights. */
struct cap cap_dup(struct cap cap);
void cap_put(struct cap cap);
/* For `struct cap cap __cleanup(cap_cleanup) = {0};` */
void cap_cleanup(struct cap *cap);

/* Of a new task; the tables come zeroed. */
void handle_init(struct task *task);
/*
 * Put a capability into its table; takes over the reference. The handle, -EMFILE or -ENOMEM (then
 * the reference has been put). May sleep, as everything below.
 */
s64 handle_install(struct task *task, struct cap cap);
/*
 * A reference to what the handle (or, for CAP_FILE, the descriptor) names; CAP_NONE: to whatever a
 * handle names. -EBADF: no such handle or another kind; cap is unchanged.
 */
int handle_lookup(struct task *task, u64 handle, enum cap_kind kind, struct cap *cap);
/* Close a handle, or for CAP_FILE a descriptor. -EBADF. */
int handle_close(struct task *task, u64 handle, enum cap_kind kind);
/* Frames that its tables, and what they name, keep from others (object_footprint, pipe_footprint). */
u64 handle_footprint(struct task *task);
/* Does any of its handles give control of the machine? */
bool handle_has_control(struct task *task);
/* At the end of a task. */
void handle_close_all(struct task *task);
/*
 * fork: the child gets copies, endpoints without the right to receive, control if it is to. -ENOMEM:
 * not all of them.
 */
int handle_copy_all(struct task *child, struct task *parent);

/* ---- Descriptors: what dup, fcntl and exec do with them ------------------------------------ */

/* The lowest free descriptor from `from` on; unusable until it is set. -EMFILE, -ENOMEM. */
s64 fd_reserve(struct task *task, u64 from, bool cloexec);
/* A reserved descriptor names cap's file (takes over the reference); CAP_NONE: is free again. */
void fd_set(struct task *task, u64 fd, struct cap cap);
/*
 * Descriptor fd names cap's file (takes over the reference); what it named is closed. -EBADF out of
 * bounds, -EBUSY reserved, -ENOMEM: then the reference has been put.
 */
int fd_replace(struct task *task, u64 fd, struct cap cap);
/* FD_CLOEXEC of a descriptor: get, then set it if `set` >= 0. The old one, or -EBADF. */
int fd_cloexec(struct task *task, u64 fd, int set);
/* exec: close what is marked. */
void fd_close_on_exec(struct task *task);
