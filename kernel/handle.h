/*
 * handle.h - capabilities: a task names kernel things only by small numbers in its own table.
 *
 * A handle is a reference to an endpoint or a memory object with rights and a badge. It can be
 * copied to another task in a message and in no other way.
 */
#pragma once

#include "kernel/types.h"

struct task;

#define MAX_HANDLES 64

enum cap_kind { CAP_NONE, CAP_ENDPOINT, CAP_OBJECT };

#define CAP_RECEIVE 1u /* endpoints: may receive, and mint badged copies */

struct cap {
	enum cap_kind kind;
	u32 rights;
	void *ptr; /* one reference, owned by whoever holds the struct */
	u64 badge; /* endpoints: what the receiver sees */
};

/* Another reference to the same thing, with the same rights. */
struct cap cap_dup(struct cap cap);
void cap_put(struct cap cap);

/* Put a capability into the table; takes over the reference. The handle, or -EMFILE (cap put). */
s64 handle_install(struct task *task, struct cap cap);
/* A reference to what the handle names. -EBADF: no such handle or another kind. */
int handle_lookup(struct task *task, u64 handle, enum cap_kind kind, struct cap *cap);
int handle_close(struct task *task, u64 handle);
/* At the end of a task. */
void handle_close_all(struct task *task);
/* fork: the child gets copies, endpoints without the right to receive. */
void handle_copy_all(struct task *child, struct task *parent);
