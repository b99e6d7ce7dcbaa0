/* client.c - who holds what: open files and generated texts. */
#include "user/fs/client.h"

#include <errno.h>
#include <stdlib.h>

struct client {
	uint64_t id;
	struct client *next;
	unsigned int files; /* none: the client is forgotten */
	size_t text;
};

static struct client *clients;
static unsigned long files_left;

void client_init(unsigned long files)
{
	files_left = files;
}

static struct client **find_link(uint64_t id)
{
	struct client **link = &clients;

	while (*link && (*link)->id != id)
		link = &(*link)->next;
	return link;
}

int client_charge(uint64_t id, size_t text, struct client **client)
{
	struct client **link = find_link(id);

	if (*link && (*link)->files == CLIENT_FILES)
		return -EMFILE;
	if (text > CLIENT_TEXT - (*link ? (*link)->text : 0))
		return -ENOMEM;
	if (files_left == 0)
		return -ENFILE;
	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (!*link)
			return -ENOMEM;
		(*link)->id = id;
	}
	*client = *link;
	(*client)->files++;
	(*client)->text += text;
	files_left--;
	return 0;
}

void client_uncharge(struct client *client, size_t text)
{
	files_left++;
	client->text -= text;
	if (--client->files == 0) {
		*find_link(client->id) = client->next;
		free(client);
	}
}
