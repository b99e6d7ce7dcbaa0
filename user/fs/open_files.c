/* open_files.c - the table of open files. */
#include "user/fs/open_files.h"

#include <string.h>

#define OPEN_FILES 1024

static struct open_file table[OPEN_FILES];
static uint64_t next_serial;

struct open_file *open_files_add(const struct tree_file *file, unsigned int flags)
{
	for (unsigned int slot = 0; slot < OPEN_FILES; slot++) {
		struct open_file *f = &table[slot];

		if (f->id != 0)
			continue;
		f->id = ++next_serial * OPEN_FILES + slot;
		f->flags = flags;
		f->file = *file;
		if (file->node)
			file->node->opens++;
		return f;
	}
	return NULL;
}

struct open_file *open_files_get(uint64_t id)
{
	struct open_file *f = &table[id % OPEN_FILES];

	return id != 0 && f->id == id ? f : NULL;
}

void open_files_close(struct open_file *f)
{
	struct node *node = f->file.node;

	text_free(&f->file.text);
	memset(f, 0, sizeof(*f));
	if (node && --node->opens == 0 && node->class->last_close)
		node->class->last_close(node);
}
