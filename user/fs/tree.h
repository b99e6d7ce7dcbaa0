/*
 * tree.h - which file a path names.
 *
 *	/tmp/<name>      files in memory         (tmp.h)
 *	/gen/<MiB>[.n]   generated files         (gen.h)
 *	/proc/<name>     figures of the kernel   (proc.h)
 *	anything else    the boot archive        (archive.h)
 *
 * A directory opens as a stream: its names, one per line.
 */
#ifndef USER_FS_TREE_H
#define USER_FS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "user/fs/node.h"
#include "user/fs/text.h"

/* What a path led to: a node, or, when that is NULL, a text. */
struct tree_file {
	struct node *node;
	struct text text;
	uint64_t inode;
	uint32_t mode; /* stat(2)'s */
	bool created;  /* by this look-up */
};

/*
 * open(2) flags as in Linux, but that O_TRUNC is the caller's to do, last. 0 or a negative errno:
 * those of open(2). What it found is opened (open_files.h) or let go.
 */
int tree_open(const char *path, size_t length, unsigned int flags, struct tree_file *file);

/* The file cannot be opened after all: what the look-up has made goes again. */
void tree_let_go(struct tree_file *file);

/* 0 or a negative errno: those of unlink(2). */
int tree_unlink(const char *path, size_t length);

#endif
