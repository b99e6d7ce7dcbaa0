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

const struct node_class *node_class_of(uint64_t cookie)
{
	uint64_t kind = cookie >> 56;

	return kind < NR_COOKIE_KINDS ? classes[kind] : NULL;
}
