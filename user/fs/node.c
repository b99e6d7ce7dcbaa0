/* node.c - a file with a memory object, whatever it is made of. */
#include "user/fs/node.h"

#include <errno.h>

#include "user/fs/archive.h"
#include "user/fs/gen.h"
#include "user/fs/tmp.h"

static const struct node_class *const classes[NR_COOKIE_KINDS] = {
	[COOKIE_ARCHIVE] = &archive_class,
	[COOKIE_TMP] = &tmp_class,
	[COOKIE_GEN] = &gen_class,
};

void node_init(struct node *node, const struct node_class *class, uint64_t cookie, uint64_t size)
{
	*node = (struct node){
		.class = class,
		.cookie = cookie,
		.size = size,
		.object = IPC_NO_HANDLE,
	};
}

int node_object(struct node *node)
{
	int handle;

	if (node->object != IPC_NO_HANDLE)
		return node->object;
	handle = gather_object_create(BOOT_HANDLE_SERVICE, node->cookie, node->size);
	if (handle < 0)
		return -errno;
	node->object = handle;
	return handle;
}

void node_drop_object(struct node *node)
{
	if (node->object != IPC_NO_HANDLE)
		gather_handle_close(node->object);
	node->object = IPC_NO_HANDLE;
}

/* ---- Idle nodes --------------------------------------------------------------------------- */

/* A ring: idle.newer is the one that has been idle longest. */
static struct node idle = { .older = &idle, .newer = &idle };
static unsigned int nr_idle;

static void leave_idle(struct node *node)
{
	if (!node->newer)
		return;
	node->older->newer = node->newer;
	node->newer->older = node->older;
	node->older = node->newer = NULL;
	nr_idle--;
}

static void forget(struct node *node)
{
	leave_idle(node);
	node_drop_object(node);
	if (node->class->forget)
		node->class->forget(node);
}

static void become_idle(struct node *node)
{
	leave_idle(node);
	node->older = idle.older;
	node->newer = &idle;
	node->older->newer = node->newer->older = node;
	if (++nr_idle > IDLE_NODES)
		forget(idle.newer);
}

void node_open(struct node *node)
{
	leave_idle(node);
	node->opens++;
}

void node_close(struct node *node)
{
	node->opens--;
	node_let_go(node);
}

void node_let_go(struct node *node)
{
	if (node->opens > 0)
		return;
	if (node->class->last_close)
		node->class->last_close(node);
	else if (node->object == IPC_NO_HANDLE)
		forget(node);
	else
		become_idle(node);
}

const struct node_class *node_class_of(uint64_t cookie)
{
	uint64_t kind = cookie >> 56;

	return kind < NR_COOKIE_KINDS ? classes[kind] : NULL;
}
