/* open_files.c - the open files. */
#include "user/fs/open_files.h"

#include <errno.h>
#include <stdlib.h>

#include "user/fs/slots.h"

static struct slots table;

int open_files_add(const struct tree_file *file, unsigned int flags, uint64_t client,
		   struct open_file **f)
{
	struct open_file *made = calloc(1, sizeof(*made));
	int error = made ? client_charge(client, file->text.capacity, &made->client) : -ENOMEM;

	if (!error) {
		made->id = slots_add(&table, made);
		if (made->id)
			goto opened;
		client_uncharge(made->client, file->text.capacity);
		error = -ENOMEM;
	}
	free(made);
	return error;
opened:
	made->flags = flags;
	made->file = *file;
	if (file->node)
		node_open(file->node);
	*f = made;
	return 0;
}

struct open_file *open_files_get(uint64_t id)
{
	return slots_get(&table, id);
}

void open_files_close(struct open_file *f)
{
	slots_remove(&table, f->id);
	client_uncharge(f->client, f->file.text.capacity);
	text_free(&f->file.text);
	if (f->file.node)
		node_close(f->file.node);
	free(f);
}
