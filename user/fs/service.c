/* service.c - answers one message of the kernel's file and pager protocols. */
#include "user/fs/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "user/fs/node.h"
#include "user/fs/open_files.h"
#include "user/fs/tmp.h"
#include "user/fs/tree.h"

/* What a request carried, apart from the reply that is built in its place. */
struct request {
	uint64_t words[IPC_WORDS];
	uint32_t page_len;
};

static void *page_buffer(const struct ipc_msg *msg)
{
	return (void *)(uintptr_t)msg->page;
}

/* What the reply to the last request tells its caller; NULL: nothing that must be taken back. */
static struct open_file *just_opened;

static void take_back(struct open_file *f)
{
	if (f->file.created)
		tmp_remove(f->file.node); /* from its directory; it ends with the close */
	open_files_close(f);
}

static long open_found(const struct request *r, struct tree_file *file, struct open_file **f)
{
	int object = file->node ? node_object(file->node) : 0;
	unsigned int flags = (unsigned int)r->words[0];
	long error = object < 0 ? object :
				  open_files_add(file, flags, r->words[FS_CLIENT_WORD], f);

	if (error) {
		tree_let_go(file);
		return error;
	}
	if ((flags & O_TRUNC) && file->node && file->node->class->truncate)
		error = file->node->class->truncate(file->node, 0);
	if (error)
		take_back(*f);
	return error;
}

static long fs_open(const struct request *r, struct ipc_msg *reply)
{
	struct tree_file file;
	struct open_file *f;
	long error = tree_open(page_buffer(reply), r->page_len, (unsigned int)r->words[0], &file);

	if (!error)
		error = open_found(r, &file, &f);
	if (error)
		return error;
	just_opened = f;
	reply->words[0] = f->id;
	reply->words[1] = file.node ? file.node->size : file.text.length;
	reply->words[2] = file.node ? FS_KIND_OBJECT : FS_KIND_STREAM;
	reply->words[3] = file.inode;
	reply->words[4] = file.mode;
	if (file.node)
		reply->handle = file.node->object;
	return 0;
}

static long fs_close(const struct request *r, struct ipc_msg *reply)
{
	struct open_file *f = open_files_get(r->words[0]);

	(void)reply;
	if (!f)
		return -EBADF;
	open_files_close(f);
	return 0;
}

static long fs_read(const struct request *r, struct ipc_msg *reply)
{
	struct open_file *f = open_files_get(r->words[0]);
	uint64_t offset = r->words[1], bytes = r->words[2];
	const struct text *text;

	if (!f)
		return -EBADF;
	if (f->file.node || bytes > IPC_PAGE_SIZE)
		return -EINVAL; /* files with an object are read through it */
	text = &f->file.text;
	if (offset >= text->length)
		return 0;
	if (bytes > text->length - offset)
		bytes = text->length - offset;
	memcpy(page_buffer(reply), text->data + offset, bytes);
	reply->page_len = (uint32_t)bytes;
	reply->words[0] = bytes;
	return 0;
}

static long change_size(const struct request *r, bool shorter)
{
	struct open_file *f = open_files_get(r->words[0]);
	struct node *node;

	if (!f)
		return -EBADF;
	node = f->file.node;
	if ((f->flags & O_ACCMODE) == O_RDONLY || !node || !node->class->truncate)
		return -EINVAL;
	if (r->words[1] > INT64_MAX)
		return -EINVAL;
	return r->words[1] > node->size || shorter ? node->class->truncate(node, r->words[1]) : 0;
}

static long fs_truncate(const struct request *r, struct ipc_msg *reply)
{
	(void)reply;
	return change_size(r, true);
}

static long fs_extend(const struct request *r, struct ipc_msg *reply)
{
	(void)reply;
	return change_size(r, false);
}

static long fs_unlink(const struct request *r, struct ipc_msg *reply)
{
	return tree_unlink(page_buffer(reply), r->page_len);
}

static long pager_page_in(const struct request *r, struct ipc_msg *reply)
{
	const struct node_class *class = node_class_of(r->words[0]);
	long bytes;

	if (!class)
		return -ESTALE;
	bytes = class->page_in(r->words[0], r->words[1], page_buffer(reply));
	if (bytes < 0)
		return bytes;
	reply->page_len = (uint32_t)bytes;
	return 0;
}

static long pager_page_out(const struct request *r, struct ipc_msg *reply)
{
	const struct node_class *class = node_class_of(r->words[0]);

	if (!class)
		return -ESTALE;
	if (!class->page_out)
		return -EROFS;
	return class->page_out(r->words[0], r->words[1], page_buffer(reply), r->page_len);
}

static long (*const handlers[])(const struct request *r, struct ipc_msg *reply) = {
	[FS_OPEN] = fs_open,
	[FS_CLOSE] = fs_close,
	[FS_READ] = fs_read,
	[FS_TRUNCATE] = fs_truncate,
	[FS_UNLINK] = fs_unlink,
	[FS_EXTEND] = fs_extend,
	[PAGER_PAGE_IN] = pager_page_in,
	[PAGER_PAGE_OUT] = pager_page_out,
};

static long handle(uint64_t label, uint64_t badge, const struct request *r, struct ipc_msg *reply)
{
	if (badge != IPC_BADGE_KERNEL)
		return -EPERM;
	if (label >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[label])
		return -ENOSYS;
	if (r->page_len > IPC_PAGE_SIZE)
		return -EINVAL;
	return handlers[label](r, reply);
}

void service_answer(struct ipc_msg *msg)
{
	struct request r = { .page_len = msg->page_len };
	long result;

	just_opened = NULL;
	memcpy(r.words, msg->words, sizeof(r.words));
	memset(msg->words, 0, sizeof(msg->words));
	if (msg->handle != IPC_NO_HANDLE)
		gather_handle_close(msg->handle); /* no request carries one */
	msg->handle = IPC_NO_HANDLE;
	msg->page_len = 0;
	result = handle(msg->label, msg->badge, &r, msg);
	msg->label = (uint64_t)result;
}

void service_undelivered(void)
{
	if (just_opened)
		take_back(just_opened);
	just_opened = NULL;
}
