/*
 * ipc_user.c - the system calls of IPC: messages between user memory and calls (see ipc.h).
 *
 * What goes from one task to another is staged in kernel pages: the sender's, and one that each
 * thread has that ever received or replied. A copy to or from user memory may wait for a pager for
 * as long as that pager likes, so a call is BUSY only for the copy from page to page: its caller
 * can always be killed, whatever the server's memory does.
 */
#include "arch/uaccess.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "mm/page_alloc.h"

/* ---- Receiving ------------------------------------------------------------------------------- */

/* A handle that a message brought, whose number its receiver will not learn. */
static void take_back(s64 handle)
{
	if (handle >= 0)
		(void)handle_close(current->task, (u64)handle, CAP_NONE);
}

/* This thread's own page; NULL: no memory. */
static void *staging_page(void)
{
	if (!current->ipc_page)
		current->ipc_page = kpage_alloc(0);
	return current->ipc_page;
}

/* A message on its way from a call to user memory. */
struct delivery {
	struct ipc_msg msg; /* page and page_cap: the receiver's */
	struct cap cap;
};

/* Take from the call what it says, at most so much of its page as the receiver has room for. */
static void take_message(struct ipc_call *call, struct delivery *d)
{
	d->msg.label = call->label;
	d->msg.badge = call->badge;
	memcpy(d->msg.words, call->words, sizeof(d->msg.words));
	d->msg.page_len = MIN(call->send_len, d->msg.page_cap);
	d->msg.reply_to = call->id;
	memcpy(current->ipc_page, call->send_page, d->msg.page_len);
	d->cap = call->send_cap;
	call->send_cap.kind = CAP_NONE;
}

static int deliver(struct delivery *d, u64 user_msg)
{
	s64 handle = IPC_NO_HANDLE;
	int err = 0;

	if (d->msg.page_len)
		err = copy_to_user(d->msg.page, current->ipc_page, d->msg.page_len);
	if (d->cap.kind != CAP_NONE && err)
		cap_put(d->cap);
	else if (d->cap.kind != CAP_NONE)
		handle = handle_install(current->task, d->cap);
	d->msg.handle = (s32)MAX(handle, (s64)IPC_NO_HANDLE);
	if (!err)
		err = copy_to_user(user_msg, &d->msg, sizeof(d->msg));
	if (err)
		take_back(handle);
	return err;
}

/* The receiver could not take it: the caller, if it still waits, gets -EIO. */
static void reject(u32 id)
{
	struct ipc_call *call = ipc_begin_reply(id);

	if (call)
		ipc_finish_reply(call, -EIO);
}

s64 sys_ipc_recv(u64 handle, u64 user_msg)
{
	struct cap cap __cleanup(cap_cleanup) = {0};
	int err = handle_lookup(current->task, handle, CAP_ENDPOINT, &cap);
	struct delivery d = {0};
	struct ipc_call *call;

	if (err)
		return err;
	if (!(cap.rights & CAP_RECEIVE))
		return -EPERM;
	if (copy_from_user(&d.msg, user_msg, sizeof(d.msg)))
		return -EFAULT;
	if (!staging_page())
		return -ENOMEM;
	call = ipc_wait_for_call(cap.ptr);
	if (!call)
		return -EINTR;
	take_message(call, &d);
	ipc_received(call);
	err = deliver(&d, user_msg);
	if (err)
		reject(d.msg.reply_to);
	return err;
}

/* ---- Replying -------------------------------------------------------------------------------- */

/* A reference to what the message passes on, without the rights that stay with the sender. */
static int pass_handle(const struct ipc_msg *msg, struct cap *cap)
{
	int err = 0;

	if (msg->handle != IPC_NO_HANDLE)
		err = handle_lookup(current->task, (u32)msg->handle, CAP_NONE, cap);
	cap->rights = 0;
	return err;
}

/* The answer's page and handle, here. *len: how much of a page. */
static int stage_reply(const struct ipc_msg *msg, u32 *len, struct cap *cap)
{
	*len = msg->page ? MIN(msg->page_len, (u32)IPC_PAGE_SIZE) : 0;
	if (*len && !staging_page())
		return -ENOMEM;
	if (*len && copy_from_user(current->ipc_page, msg->page, *len))
		return -EFAULT;
	return pass_handle(msg, cap);
}

s64 sys_ipc_reply(u64 user_msg)
{
	struct cap cap __cleanup(cap_cleanup) = {0};
	struct ipc_call *call;
	struct ipc_msg msg;
	u32 len;
	int err;

	if (copy_from_user(&msg, user_msg, sizeof(msg)))
		return -EFAULT;
	err = stage_reply(&msg, &len, &cap);
	call = ipc_begin_reply(msg.reply_to);
	if (!call)
		return -ESRCH; /* the caller was killed, or the id is made up */
	call->label = msg.label;
	memcpy(call->words, msg.words, sizeof(call->words));
	call->recv_len = err ? 0 : MIN(len, call->recv_cap);
	if (call->recv_len)
		memcpy(call->recv_page, current->ipc_page, call->recv_len);
	if (!err) {
		call->recv_cap_ref = cap;
		cap.kind = CAP_NONE;
	}
	ipc_finish_reply(call, err ? -EIO : 0);
	return err;
}

/* A server must hear of a caller that was killed meanwhile: it takes back what it did for it. */
s64 sys_ipc_reply_recv(u64 handle, u64 msg)
{
	s64 err = sys_ipc_reply(msg);

	return err ? err : sys_ipc_recv(handle, msg);
}

/* ---- Calling from user mode ------------------------------------------------------------------ */

static int prepare_user_call(struct ipc_call *call, const struct ipc_msg *msg, void *page)
{
	int err = 0;

	call->label = msg->label;
	memcpy(call->words, msg->words, sizeof(call->words));
	call->send_page = call->recv_page = page;
	call->send_len = msg->page ? msg->page_len : 0;
	call->recv_cap = msg->page ? MIN(msg->page_cap, (u32)IPC_PAGE_SIZE) : 0;
	if (call->send_len > IPC_PAGE_SIZE)
		return -EMSGSIZE;
	if (call->send_len)
		err = copy_from_user(page, msg->page, call->send_len);
	return err ? err : pass_handle(msg, &call->send_cap);
}

static int finish_user_call(struct ipc_call *call, struct ipc_msg *msg, u64 user_msg)
{
	s64 handle = IPC_NO_HANDLE;
	int err = 0;

	if (call->recv_len)
		err = copy_to_user(msg->page, call->recv_page, call->recv_len);
	if (call->recv_cap_ref.kind != CAP_NONE)
		handle = handle_install(current->task, call->recv_cap_ref);
	if (handle < IPC_NO_HANDLE)
		err = (int)handle;
	msg->label = call->label;
	memcpy(msg->words, call->words, sizeof(msg->words));
	msg->page_len = call->recv_len;
	msg->handle = (s32)handle;
	if (!err)
		err = copy_to_user(user_msg, msg, sizeof(*msg));
	if (err)
		take_back(handle);
	return err;
}

s64 sys_ipc_call(u64 handle, u64 user_msg)
{
	struct cap cap __cleanup(cap_cleanup) = {0};
	struct ipc_call call = {0};
	struct ipc_msg msg;
	void *page;
	int err;

	if (copy_from_user(&msg, user_msg, sizeof(msg)))
		return -EFAULT;
	err = handle_lookup(current->task, handle, CAP_ENDPOINT, &cap);
	if (err)
		return err;
	page = msg.page ? kpage_alloc(0) : NULL;
	err = msg.page && !page ? -ENOMEM : prepare_user_call(&call, &msg, page);
	call.badge = cap.badge;
	if (!err)
		err = ipc_call(cap.ptr, &call);
	if (!err)
		err = finish_user_call(&call, &msg, user_msg);
	cap_put(call.send_cap);
	if (page)
		kpage_free(page, 0);
	return err;
}

s64 sys_endpoint_create(void)
{
	struct endpoint *endpoint = endpoint_create(current->task);

	if (!endpoint)
		return -ENOMEM;
	return handle_install(current->task, (struct cap){CAP_ENDPOINT, CAP_RECEIVE, endpoint, 0});
}

s64 sys_handle_mint(u64 handle, u64 badge)
{
	struct cap cap __cleanup(cap_cleanup) = {0};
	int err = handle_lookup(current->task, handle, CAP_ENDPOINT, &cap);

	if (err)
		return err;
	if (!(cap.rights & CAP_RECEIVE) || badge == IPC_BADGE_KERNEL)
		return -EPERM;
	endpoint_get(cap.ptr);
	return handle_install(current->task, (struct cap){CAP_ENDPOINT, 0, cap.ptr, badge});
}
