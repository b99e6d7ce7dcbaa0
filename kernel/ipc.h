/*
 * ipc.h - synchronous call, receive, reply on endpoints.
 *
 *   client: ipc_call ----------------+ blocked ................... +--> goes on
 *                 | CPU handed over  |                             |
 *   server:       +--> ipc_recv returns --> works --> ipc_reply ---+  CPU handed back
 *
 * A call lives on the caller's kernel stack until it is answered or given up. States:
 *
 *   QUEUED (on the endpoint) -> BUSY (data being copied out) -> RECEIVED (on the server's list)
 *     -> BUSY (answer being copied in) -> DONE
 *
 * A killed caller, and one whose deadline has passed, leaves from QUEUED or RECEIVED at once and
 * waits out BUSY, which is short: whoever has a call BUSY copies from one kernel page to another,
 * and waits for nobody. When a server task ends, its endpoints die: callers, waiting and future
 * ones, get -EIO. One spinlock guards all.
 */
#pragma once

#include "user/abi.h"
#include "kernel/handle.h"
#include "kernel/list.h"

struct task;
struct thread;

struct endpoint {
	u32 refcount;
	/* Under the IPC lock. */
	struct task *owner; /* NULL: dead */
	struct list_head callers;   /* ipc_call.node, QUEUED */
	struct list_head receivers; /* threads waiting to receive */
	struct list_head owner_node;
};

enum ipc_state { IPC_QUEUED, IPC_BUSY, IPC_RECEIVED, IPC_DONE };

struct ipc_call {
	/* Filled by the caller. */
	u64 label, badge;
	u64 words[IPC_WORDS];
	const void *send_page; /* kernel addresses */
	u32 send_len;
	void *recv_page;
	u32 recv_cap;
	struct cap send_cap;
	bool uninterrupted; /* a kill does not end the wait */
	u64 deadline_ns;    /* when the caller gives up (clock_ns); 0: never */
	/* Filled by the answer; label and words too. */
	u32 recv_len;
	struct cap recv_cap_ref;
	int error;
	/* The protocol's own. */
	enum ipc_state state;
	u32 id;
	struct thread *caller;
	struct list_head node;
};

struct endpoint *endpoint_create(struct task *owner);
/* Both take NULL too; get returns its argument. */
struct endpoint *endpoint_get(struct endpoint *endpoint);
void endpoint_put(struct endpoint *endpoint);
/* Its owner is a pinned server (struct task): others may wait for it without bound. */
bool endpoint_trusted(const struct endpoint *endpoint);
/*
 * Its owner did not do what was expected of it: the endpoint dies as if the owner had ended, and
 * the console says so in one line. Any sleeping context.
 */
void endpoint_give_up(struct endpoint *endpoint, const char *why);
/* The owner ends: fail everyone who waits for it. Context: all its threads have ended. */
void ipc_task_exit(struct task *task);

/*
 * Send a call and wait for the answer. 0, -EIO (the server is gone or answered nonsense), -EINTR,
 * -ETIMEDOUT.
 * Context: may sleep.
 */
int ipc_call(struct endpoint *endpoint, struct ipc_call *call);

/*
 * The kernel as a client: pages of objects. data is a page in the direct map. A page-out:
 * -EIO the pager is gone; -EAGAIN it is there and did not take the page; -ETIMEDOUT it did not
 * answer within patience_ns (0: no limit); -EINTR.
 */
int ipc_page_in(struct endpoint *pager, u64 cookie, u64 index, void *data);
int ipc_page_out(struct endpoint *pager, u64 cookie, u64 index, const void *data, u64 patience_ns);

/* For the system calls (ipc_user.c): a server's side of a call. */

/* Wait for a call; NULL when killed. It is BUSY until ipc_received. */
struct ipc_call *ipc_wait_for_call(struct endpoint *endpoint);
/* The call's data has been copied out. */
void ipc_received(struct ipc_call *call);
/* The received call with this id, BUSY again; NULL: nobody waits for it. */
struct ipc_call *ipc_begin_reply(u32 id);
/* The answer has been copied in, or that failed: the caller goes on. */
void ipc_finish_reply(struct ipc_call *call, int error);
