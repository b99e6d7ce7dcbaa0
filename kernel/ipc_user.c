/*
 * ipc_user.c - the system calls of IPC: messages between user memory and calls (see ipc.h).
 *
 * A page that a user program sends is staged in a kernel page of its own, so that the receiver
 * never depends on the sender's address space; what a server answers goes straight from its memory
 * to where the caller wants it.
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

static int deliver(struct ipc_call *call, u64 user_msg)
{
	struct ipc_msg msg;
	int err = copy_from_user(&msg, user_msg, sizeof(msg));
	u32 len = err ? 0 : MIN(call->send_len, msg.page_cap);
	s64 handle = IPC_NO_HANDLE;

	if (!err && len)
		err = copy_to_user(msg.page, call->send_page, len);
	if (!err && call->send_cap.kind != CAP_NONE) {
		handle = handle_install(current->task, call->send_cap);
		call->send_cap.kind = CAP_NONE;
	}
	msg.label = call->label;
	msg.badge = call->badge;
	memcpy(msg.words, call->words, sizeof(msg.words));
	msg.page_len = len;
	msg.handle = (s32)MAX(handle, (s64)IPC_NO_HANDLE);
	msg.reply_to = call->id;
	if (!err)
		err = copy_to_user(user_msg, &msg, sizeof(msg));
	if (err)
		take_back(handle);
	return err;
}

s64 sys_ipc_recv(u64 handle, u64 user_msg)
{
	struct cap cap __cleanup(cap_cleanup) = {0};
	int err = handle_lookup(current->task, handle, CAP_ENDPOINT, &cap);
	struct ipc_call *call;

	if (err)
		return err;
	if (!(cap.rights & CAP_RECEIVE))
		return -EPERM;
	call = ipc_wait_for_call(cap.ptr);
	if (!call)
		return -EINTR;
	err = deliver(call, user_msg);
	ipc_received(call, err);
	return err;
}

/* ---- Replying -------------------------------------------------------------------------------- */

/* A reference to what the message passes on, never with the right to receive. */
static int pass_handle(const struct ipc_msg *msg, struct cap *cap)
{
	int err = 0;

	if (msg->handle != IPC_NO_HANDLE)
		err = handle_lookup(current->task, (u32)msg->handle, CAP_NONE, cap);
	cap->rights &= ~CAP_RECEIVE;
	return err;
}

static int copy_reply(struct ipc_call *call, const struct ipc_msg *msg)
{
	u32 len = MIN(msg->page_len, (u32)IPC_PAGE_SIZE);
	int err = 0;

	call->label = msg->label;
	memcpy(call->words, msg->words, sizeof(call->words));
	call->recv_len = msg->page ? MIN(len, call->recv_cap) : 0;
	if (call->recv_len)
		err = copy_from_user(call->recv_page, msg->page, call->recv_len);
	return err ? err : pass_handle(msg, &call->recv_cap_ref);
}

s64 sys_ipc_reply(u64 user_msg)
{
	struct ipc_call *call;
	struct ipc_msg msg;
	int err;

	if (copy_from_user(&msg, user_msg, sizeof(msg)))
		return -EFAULT;
	call = ipc_begin_reply(msg.reply_to);
	if (!call)
		return -ESRCH; /* the caller was killed, or the id is made up */
	err = copy_reply(call, &msg);
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
