/* tmp.c - files in memory under /tmp. */
#include "user/fs/tmp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "user/fs/slots.h"

#define TMP_NAME    64
#define NAME_CHAINS 1024
#define CHUNK_BYTES (16UL * FS_PAGE_SIZE)

struct tmp_file {
	struct node node;
	struct tmp_file *next; /* in its chain */
	bool linked;
	char name[TMP_NAME];
	uint8_t **chunks; /* nr_chunks of CHUNK_BYTES each, enough for node.size */
	uint64_t nr_chunks;
};

static struct tmp_file *files[NAME_CHAINS]; /* by name */
static struct slots cookies;                /* by cookie_value */
static uint64_t chunks_left, files_left;

void tmp_init(uint64_t limit_bytes, uint64_t limit_files)
{
	chunks_left = limit_bytes / CHUNK_BYTES;
	files_left = limit_files;
}

/* ---- Storage ------------------------------------------------------------------------------ */

static uint64_t chunks_for(uint64_t size)
{
	return size / CHUNK_BYTES + (size % CHUNK_BYTES != 0);
}

static void shrink(struct tmp_file *f, uint64_t count)
{
	while (f->nr_chunks > count) {
		munmap(f->chunks[--f->nr_chunks], CHUNK_BYTES);
		chunks_left++;
	}
}

static bool add_chunk(struct tmp_file *f)
{
	void *chunk = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (chunk == MAP_FAILED)
		return false;
	f->chunks[f->nr_chunks++] = chunk;
	chunks_left--;
	return true;
}

static int grow(struct tmp_file *f, uint64_t count)
{
	uint64_t before = f->nr_chunks;
	uint8_t **chunks;

	if (count <= before)
		return 0;
	if (count - before > chunks_left)
		return -ENOSPC;
	chunks = realloc(f->chunks, count * sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	f->chunks = chunks;
	while (f->nr_chunks < count) {
		if (!add_chunk(f)) { /* no memory now; the kernel may make some and ask again */
			shrink(f, before);
			return -ENOMEM;
		}
	}
	return 0;
}

static uint8_t *page_of(struct tmp_file *f, uint64_t index)
{
	uint64_t pages = CHUNK_BYTES / FS_PAGE_SIZE;

	return f->chunks[index / pages] + index % pages * FS_PAGE_SIZE;
}

/* Bytes past the end must read as zero when the file grows again. */
static void clear_past(struct tmp_file *f, uint64_t size)
{
	uint64_t offset = size % CHUNK_BYTES;

	if (offset > 0)
		memset(f->chunks[size / CHUNK_BYTES] + offset, 0, CHUNK_BYTES - offset);
}

static long tmp_truncate(struct node *node, uint64_t size)
{
	struct tmp_file *f = (struct tmp_file *)node; /* node is its first member */
	int error = grow(f, chunks_for(size));

	if (error)
		return error;
	if (node->object != IPC_NO_HANDLE && gather_object_resize(node->object, size) != 0) {
		error = -errno;
		shrink(f, chunks_for(node->size));
		return error;
	}
	shrink(f, chunks_for(size));
	if (size < node->size)
		clear_past(f, size);
	node->size = size;
	return 0;
}

/* ---- Paging ------------------------------------------------------------------------------- */

static struct tmp_file *file_of(uint64_t cookie)
{
	return slots_get(&cookies, cookie_value(cookie));
}

static long tmp_page_in(uint64_t cookie, uint64_t index, void *page)
{
	struct tmp_file *f = file_of(cookie);
	uint32_t bytes;

	if (!f)
		return -ESTALE;
	bytes = node_page_bytes(f->node.size, index);
	if (bytes == 0)
		return -EINVAL;
	memcpy(page, page_of(f, index), bytes);
	return bytes;
}

/*
 * A page past the end was on its way when the file shrank: nobody can ask for it again, so it is
 * dropped without an error. Bytes past the end of the last page are dropped as well.
 */
static long tmp_page_out(uint64_t cookie, uint64_t index, const void *page, uint32_t length)
{
	struct tmp_file *f = file_of(cookie);
	uint32_t bytes;

	if (!f)
		return 0; /* the same, when the whole file is gone */
	bytes = node_page_bytes(f->node.size, index);
	if (bytes > 0)
		memcpy(page_of(f, index), page, bytes < length ? bytes : length);
	return 0;
}

/* ---- Names -------------------------------------------------------------------------------- */

static struct tmp_file **chain_of(const char *name)
{
	unsigned int hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return &files[hash % NAME_CHAINS];
}

static struct tmp_file *find_linked(const char *name)
{
	struct tmp_file *f = *chain_of(name);

	while (f && !(f->linked && strcmp(f->name, name) == 0))
		f = f->next;
	return f;
}

static struct tmp_file *make_file(const char *name)
{
	struct tmp_file *f = files_left > 0 ? calloc(1, sizeof(*f)) : NULL;
	uint64_t value = f ? slots_add(&cookies, f) : 0;

	if (!value) {
		free(f);
		return NULL;
	}
	node_init(&f->node, &tmp_class, cookie_make(COOKIE_TMP, value), 0);
	f->linked = true;
	strcpy(f->name, name);
	f->next = *chain_of(name);
	*chain_of(name) = f;
	files_left--;
	return f;
}

static void free_if_unused(struct tmp_file *f)
{
	struct tmp_file **link = chain_of(f->name);

	if (f->linked || f->node.opens > 0)
		return;
	while (*link != f)
		link = &(*link)->next;
	*link = f->next;
	files_left++;
	slots_remove(&cookies, cookie_value(f->node.cookie));
	node_drop_object(&f->node);
	shrink(f, 0);
	free(f->chunks);
	free(f);
}

static void tmp_last_close(struct node *node)
{
	free_if_unused((struct tmp_file *)node);
}

int tmp_find(const char *name, unsigned int flags, struct node **node, bool *created)
{
	struct tmp_file *f;

	if (strchr(name, '/'))
		return -ENOENT; /* there are no directories in /tmp */
	if (strlen(name) >= TMP_NAME)
		return -ENAMETOOLONG;
	f = find_linked(name);
	if (f && (flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	if (!f && !(flags & O_CREAT))
		return -ENOENT;
	if (!f) {
		f = make_file(name);
		if (!f)
			return -ENOSPC;
		*created = true;
	}
	*node = &f->node;
	return 0;
}

static void unlink_file(struct tmp_file *f)
{
	f->linked = false;
	free_if_unused(f);
}

int tmp_unlink(const char *name)
{
	struct tmp_file *f = find_linked(name);

	if (!f)
		return -ENOENT;
	unlink_file(f);
	return 0;
}

void tmp_remove(struct node *node)
{
	unlink_file((struct tmp_file *)node);
}

void tmp_list(struct text *out)
{
	for (unsigned int i = 0; i < NAME_CHAINS; i++)
		for (const struct tmp_file *f = files[i]; f; f = f->next)
			if (f->linked)
				text_printf(out, "%s\n", f->name);
}

const struct node_class tmp_class = {
	.page_in = tmp_page_in,
	.page_out = tmp_page_out,
	.truncate = tmp_truncate,
	.last_close = tmp_last_close,
};
