/*
 * handle.h - capabilities: a task names kernel things only by small numbers in its own tables.
 *
 * A handle is a reference to an endpoint or a memory object with rights and a badge, or control of
 * the machine. It can be copied to another task in a message, by fork, and in no other way.
 * Control goes to a child only from a task that has said so before (SYS_handle_inherit). A
 * descriptor is the same for an open file, in a table of its own, as programs expect to find 0, 1
 * and 2 there.
 */
#pragma once

#include "kernel/guard.h"
#include "kernel/types.h"

struct task;

#define MAX_HANDLES 64

enum cap_kind {
	CAP_NONE,
	CAP_ENDPOINT,
	CAP_OBJECT,
	CAP_FILE,
	CAP_CONTROL, /* of the machine: policies, power, other tasks' lives; names nothing */
};

#define CAP_RECEIVE 1u /* endpoints: may receive, and mint badged copies */
#define CAP_INHERIT 2u /* control: a child gets it, too, without this right */

struct cap {
	enum cap_kind kind;
	u32 rights;
	void *ptr; /* one reference, owned by whoever holds the struct */
	u64 badge; /* endpoints: what the receiver sees */
};

/* Another reference to the same thing, with the same rights. */
struct cap cap_dup(struct cap cap);
void cap_put(struct cap cap);
/* For `struct cap cap __cleanup(cap_cleanup) = {0};` */
void cap_cleanup(struct cap *cap);

/* Put a capability into its table; takes over the reference. The handle, or -EMFILE (cap put). */
s64 handle_install(struct task *task, struct cap cap);
/*
 * A reference to what the handle (or, for CAP_FILE, the descriptor) names; CAP_NONE: to whatever a
 * handle names. -EBADF: no such handle or another kind; cap is unchanged.
 */
int handle_lookup(struct task *task, u64 handle, enum cap_kind kind, struct cap *cap);
/* Close a handle, or for CAP_FILE a descriptor. -EBADF. */
int handle_close(struct task *task, u64 handle, enum cap_kind kind);
/* Does any of its handles give control of the machine? */
bool handle_has_control(struct task *task);
/* At the end of a task. */
void handle_close_all(struct task *task);
/* fork: the child gets copies, endpoints without the right to receive, control if it is to. */
void handle_copy_all(struct task *child, struct task *parent);
