/* ipc.c - endpoints and calls (see ipc.h). */
#include "kernel/ipc.h"
#include "drivers/clock.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/task.h"
#include "kernel/timer.h"
#include "mm/slab.h"
#include "mm/tlb_batch.h"

static const struct lock_class ipc_class = {"IPC", RANK_IPC, false};
static spinlock_t ipc_lock = SPINLOCK_INIT(ipc_class);
static u32 next_call_id;

/* A thread that waits in receive, on its kernel stack. */
struct receiver {
	struct list_head node;
	struct thread *thread;
};

/* ---- Endpoints ------------------------------------------------------------------------------- */

struct endpoint *endpoint_create(struct task *owner)
{
	struct endpoint *endpoint = kzalloc(sizeof(*endpoint));

	if (!endpoint)
		return NULL;
	endpoint->refcount = 1;
	endpoint->owner = owner;
	list_init(&endpoint->callers);
	list_init(&endpoint->receivers);
	spin_guard(&ipc_lock);
	list_add(&endpoint->owner_node, &owner->endpoints);
	return endpoint;
}

struct endpoint *endpoint_get(struct endpoint *endpoint)
{
	if (endpoint)
		atomic_inc(&endpoint->refcount);
	return endpoint;
}

void endpoint_put(struct endpoint *endpoint)
{
	if (!endpoint || !atomic_dec_and_test(&endpoint->refcount))
		return;
	ASSERT(list_empty(&endpoint->callers), "endpoint %p ends with callers", (void *)endpoint);
	ASSERT(list_empty(&endpoint->receivers), "endpoint %p ends with receivers",
	       (void *)endpoint);
	spin_lock(&ipc_lock);
	list_del(&endpoint->owner_node);
	spin_unlock(&ipc_lock);
	kfree(endpoint);
}

/* The call is over. Context: IPC lock held; the caller cannot leave before it is released. */
static void finish_call(struct ipc_call *call, int error)
{
	spin_assert_held(&ipc_lock);
	list_del(&call->node);
	call->error = error;
	WRITE_ONCE(call->state, IPC_DONE);
	wake_up_handoff(call->caller);
}

static void fail_calls(struct list_head *calls)
{
	while (!list_empty(calls))
		finish_call(list_first(calls, struct ipc_call, node), -EIO);
}

bool endpoint_trusted(const struct endpoint *endpoint)
{
	spin_guard(&ipc_lock); /* the owner does not go away */
	return endpoint->owner && endpoint->owner->server;
}

/* Context: IPC lock held. */
static void endpoint_dies(struct endpoint *endpoint)
{
	list_del(&endpoint->owner_node);
	endpoint->owner = NULL;
	fail_calls(&endpoint->callers);
}

void endpoint_give_up(struct endpoint *endpoint, const char *why)
{
	char name[TASK_NAME_LEN] = "";
	u32 pid = 0;

	spin_lock(&ipc_lock);
	if (endpoint->owner) {
		strlcpy(name, endpoint->owner->name, sizeof(name));
		pid = endpoint->owner->pid;
		endpoint_dies(endpoint);
	}
	spin_unlock(&ipc_lock);
	if (pid)
		pr_warn("%s (pid %u) %s: it is a pager no more, its objects are lost\n", name, pid,
			why);
}

void ipc_task_exit(struct task *task)
{
	spin_guard(&ipc_lock);
	while (!list_empty(&task->endpoints))
		endpoint_dies(list_first(&task->endpoints, struct endpoint, owner_node));
	fail_calls(&task->received_calls);
}

/* ---- Calling --------------------------------------------------------------------------------- */

static int queue_call(struct endpoint *endpoint, struct ipc_call *call)
{
	struct receiver *receiver;

	spin_guard(&ipc_lock);
	if (!endpoint->owner)
		return -EIO;
	call->state = IPC_QUEUED;
	call->caller = current;
	call->id = ++next_call_id;
	list_add_tail(&call->node, &endpoint->callers);
	set_current_state(call->uninterrupted ? THREAD_SLEEPING : THREAD_KILLABLE);
	receiver = list_pop(&endpoint->receivers, struct receiver, node);
	if (receiver)
		wake_up_handoff(receiver->thread);
	return 0;
}

/* Killed: give the call up if nobody is copying for it right now. true: it is off every list. */
static bool abandon_call(struct ipc_call *call)
{
	spin_guard(&ipc_lock);
	if (call->state == IPC_BUSY || call->state == IPC_DONE)
		return false;
	list_del(&call->node);
	return true;
}

/* Why the caller would rather not wait any longer; 0: it would. */
static int give_up_reason(const struct ipc_call *call)
{
	if (thread_killed(current) && !call->uninterrupted)
		return -EINTR;
	return call->deadline_ns && clock_ns() >= call->deadline_ns ? -ETIMEDOUT : 0;
}

int ipc_call(struct endpoint *endpoint, struct ipc_call *call)
{
	int err;

	assert_may_sleep("ipc_call");
	ASSERT(tlb_ubc_empty(current), "%s waits for a server with frames in limbo", current->name);
	err = queue_call(endpoint, call);
	if (err)
		return err;
	if (call->deadline_ns)
		sleep_timer_arm(call->deadline_ns);
	while (READ_ONCE(call->state) != IPC_DONE) {
		err = give_up_reason(call);
		if (err && abandon_call(call))
			break;
		err = 0;
		schedule();
		set_current_state(call->uninterrupted || thread_killed(current) ? THREAD_SLEEPING :
										   THREAD_KILLABLE);
	}
	set_current_state(THREAD_RUNNING);
	if (call->deadline_ns)
		sleep_timer_disarm();
	spin_lock(&ipc_lock); /* whoever finished the call has let go of it */
	spin_unlock(&ipc_lock);
	return err ? err : call->error;
}

static int ipc_call_kernel(struct endpoint *endpoint, struct ipc_call *call)
{
	int err;

	call->badge = IPC_BADGE_KERNEL;
	err = ipc_call(endpoint, call);
	if (err)
		return err;
	cap_put(call->recv_cap_ref);
	return call->label ? -EIO : 0;
}

int ipc_page_in(struct endpoint *pager, u64 cookie, u64 index, void *data)
{
	struct ipc_call call = {
		.label = PAGER_PAGE_IN,
		.words = {cookie, index},
		.recv_page = data,
		.recv_cap = PAGE_SIZE,
	};
	int err = ipc_call_kernel(pager, &call);

	if (!err)
		memset((u8 *)data + call.recv_len, 0, PAGE_SIZE - call.recv_len);
	return err;
}

int ipc_page_out(struct endpoint *pager, u64 cookie, u64 index, const void *data, u64 patience_ns)
{
	struct ipc_call call = {
		.label = PAGER_PAGE_OUT,
		.words = {cookie, index},
		.send_page = data,
		.send_len = PAGE_SIZE,
		.deadline_ns = patience_ns ? clock_ns() + patience_ns : 0,
	};
	int err = ipc_call_kernel(pager, &call);

	return err == -EIO && READ_ONCE(pager->owner) ? -EAGAIN : err;
}

/* ---- Receiving ------------------------------------------------------------------------------- */

static struct ipc_call *take_call(struct endpoint *endpoint)
{
	struct ipc_call *call = list_pop(&endpoint->callers, struct ipc_call, node);

	if (!call)
		return NULL;
	list_add_tail(&call->node, &current->task->received_calls);
	call->state = IPC_BUSY;
	return call;
}

struct ipc_call *ipc_wait_for_call(struct endpoint *endpoint)
{
	struct receiver self = {.thread = current};
	struct ipc_call *call = NULL;

	list_init(&self.node);
	while (!call && !thread_killed(current)) {
		spin_lock(&ipc_lock);
		list_del(&self.node);
		call = take_call(endpoint);
		if (!call) {
			list_add_tail(&self.node, &endpoint->receivers);
			set_current_state(THREAD_KILLABLE);
		}
		spin_unlock(&ipc_lock);
		if (!call && !thread_killed(current))
			schedule();
		set_current_state(THREAD_RUNNING);
	}
	spin_lock(&ipc_lock);
	list_del(&self.node);
	spin_unlock(&ipc_lock);
	return call;
}

/* BUSY is over. A killed caller waits for this. */
void ipc_received(struct ipc_call *call)
{
	spin_guard(&ipc_lock);
	ASSERT(call->state == IPC_BUSY, "call %u is received in state %d", call->id, call->state);
	WRITE_ONCE(call->state, IPC_RECEIVED);
	if (thread_killed(call->caller) || call->deadline_ns)
		wake_up_thread(call->caller);
}

/* ---- Replying -------------------------------------------------------------------------------- */

struct ipc_call *ipc_begin_reply(u32 id)
{
	struct ipc_call *call;

	spin_guard(&ipc_lock);
	list_for_each(call, &current->task->received_calls, node)
		if (call->id == id && call->state == IPC_RECEIVED) {
			WRITE_ONCE(call->state, IPC_BUSY);
			return call;
		}
	return NULL;
}

void ipc_finish_reply(struct ipc_call *call, int error)
{
	spin_guard(&ipc_lock);
	ASSERT(call->state == IPC_BUSY, "call %u is answered in state %d", call->id, call->state);
	finish_call(call, error);
}
