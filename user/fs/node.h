/*
 * node.h - a file with a memory object, whatever it is made of.
 *
 * Three kinds exist: archive files (archive.h), files in /tmp (tmp.h) and generated ones (gen.h).
 * A node is named towards the kernel by its cookie, which is never used for another file again:
 * a late request for a file that is gone can only fail, never reach another file's pages.
 *
 * The memory object of a file that nobody has open keeps its pages cached in the kernel. The server
 * keeps a few such idle objects, those used last; a closed file costs nothing beyond that. A file
 * in /tmp keeps its object as long as it exists: the kernel may hold bytes of it that the server
 * has not got yet.
 */
#ifndef USER_FS_NODE_H
#define USER_FS_NODE_H

#include <stdint.h>

#include "user/lib/gather.h"

#define FS_PAGE_SIZE 4096
#define IDLE_NODES   32 /* with an object that nobody has open */

struct node {
	const struct node_class *class;
	uint64_t cookie; /* the inode number too */
	uint64_t size;
	int object; /* handle of the memory object, IPC_NO_HANDLE until first asked for */
	unsigned int opens;
	struct node *older, *newer; /* among the idle ones; both NULL: it is not */
};

struct node_class {
	/* Writes the page; returns the bytes written (the rest is zero) or a negative errno. */
	long (*page_in)(uint64_t cookie, uint64_t index, void *page);
	/* Stores the page without allocating. Returns 0 or a negative errno. NULL: read only. */
	long (*page_out)(uint64_t cookie, uint64_t index, const void *page, uint32_t length);
	/* NULL: read only. */
	long (*truncate)(struct node *node, uint64_t size);
	/*
	 * The last open file on the node is gone. NULL: the node becomes idle, and is forgotten when
	 * many have been closed after it.
	 */
	void (*last_close)(struct node *node);
	/* An idle node's object is gone, and its memory may go. May be NULL. */
	void (*forget)(struct node *node);
};

/* The kind of a file is the top byte of its cookie. */
enum cookie_kind { COOKIE_ARCHIVE = 1, COOKIE_TMP, COOKIE_GEN, NR_COOKIE_KINDS };

static inline uint64_t cookie_make(enum cookie_kind kind, uint64_t value)
{
	return (uint64_t)kind << 56 | value;
}

static inline uint64_t cookie_value(uint64_t cookie)
{
	return cookie & (((uint64_t)1 << 56) - 1);
}

void node_init(struct node *node, const struct node_class *class, uint64_t cookie, uint64_t size);

/* The handle of the node's memory object, made when first needed; or a negative errno. */
int node_object(struct node *node);

/* Gives the memory object up; mappings of it live on in the kernel. */
void node_drop_object(struct node *node);

/* One open file more on the node, or one less; the last one may end the node. */
void node_open(struct node *node);
void node_close(struct node *node);

/* After a look-up that led to no open file: what the last close would do, if none is open. */
void node_let_go(struct node *node);

/* The class that answers for a cookie, or NULL. */
const struct node_class *node_class_of(uint64_t cookie);

/* How many bytes of page `index` lie within a file of `size` bytes. */
static inline uint32_t node_page_bytes(uint64_t size, uint64_t index)
{
	if (index >= (size + FS_PAGE_SIZE - 1) / FS_PAGE_SIZE)
		return 0;
	size -= index * FS_PAGE_SIZE;
	return size < FS_PAGE_SIZE ? (uint32_t)size : FS_PAGE_SIZE;
}

#endif
