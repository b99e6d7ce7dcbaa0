/* archive.c - the files of the boot archive, read only. */
#include "user/fs/archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/fs/path.h"
#include "user/fs/ustar.h"

struct archive_file {
	struct node node;
	const uint8_t *data;
	unsigned int first_name; /* a hard link: the file with this index, else its own */
	char path[FS_PATH_SIZE];
};

static struct archive_file *files; /* constant after archive_init */
static unsigned int nr_files;

/* The file that has this name by now, or nr_files. */
static unsigned int find_file(const char *path)
{
	for (unsigned int i = nr_files; i-- > 0;)
		if (strcmp(files[i].path, path) == 0)
			return files[i].first_name;
	return nr_files;
}

/* The entry's name and file; the reason why it is left out, or NULL. */
static const char *take_entry(const struct ustar_entry *entry, struct archive_file *f)
{
	char link[FS_PATH_SIZE];

	if (entry->problem)
		return entry->problem;
	if (path_normalise(entry->path, sizeof(entry->path), f->path) != 0)
		return "unusable name";
	f->first_name = nr_files;
	if (entry->link[0] != '\0') {
		if (path_normalise(entry->link, sizeof(entry->link), link) != 0 ||
		    find_file(link) == nr_files)
			return "a link to a file that is not there";
		f->first_name = find_file(link);
	}
	return NULL;
}

static bool add_file(const struct ustar_entry *entry)
{
	struct archive_file *f, *grown = realloc(files, (nr_files + 1) * sizeof(*files));
	const char *problem;

	if (!grown)
		return false;
	files = grown;
	f = &files[nr_files];
	problem = take_entry(entry, f);
	if (problem) {
		fprintf(stderr, "fs: archive: '%s' left out: %s\n", entry->path, problem);
		return true;
	}
	node_init(&f->node, &archive_class, cookie_make(COOKIE_ARCHIVE, nr_files), entry->size);
	f->data = entry->data;
	nr_files++;
	return true;
}

int archive_init(const void *base, size_t length)
{
	struct ustar_entry entry;
	enum ustar_result result;
	struct ustar archive;

	ustar_open(&archive, base, length);
	while ((result = ustar_next(&archive, &entry)) == USTAR_ENTRY)
		if ((entry.regular || entry.link[0] || entry.problem) && !add_file(&entry))
			return -ENOMEM;
	if (result == USTAR_ERROR)
		fprintf(stderr, "fs: %s\n", archive.error);
	return (int)nr_files;
}

struct node *archive_find(const char *path)
{
	unsigned int i = find_file(path);

	return i < nr_files ? &files[i].node : NULL;
}

/* The part of path that names an entry of the directory, and its length; NULL: not inside. */
static const char *name_within(const char *path, const char *directory, size_t *length)
{
	size_t skip = strlen(directory);

	if (strncmp(path, directory, skip) != 0 || (skip > 0 && path[skip] != '/'))
		return NULL;
	path += skip + (skip > 0);
	*length = strcspn(path, "/");
	return path;
}

static bool listed_before(unsigned int file, const char *directory, const char *name, size_t length)
{
	for (unsigned int i = 0; i < file; i++) {
		size_t other_length;
		const char *other = name_within(files[i].path, directory, &other_length);

		if (other && other_length == length && memcmp(other, name, length) == 0)
			return true;
	}
	return false;
}

bool archive_list(const char *directory, struct text *out)
{
	bool exists = *directory == '\0';

	for (unsigned int i = 0; i < nr_files; i++) {
		size_t length;
		const char *name = name_within(files[i].path, directory, &length);

		if (!name)
			continue;
		exists = true;
		if (!listed_before(i, directory, name, length))
			text_printf(out, "%.*s\n", (int)length, name);
	}
	return exists;
}

static long archive_page_in(uint64_t cookie, uint64_t index, void *page)
{
	uint64_t file = cookie_value(cookie);
	uint32_t bytes;

	if (file >= nr_files)
		return -ESTALE;
	bytes = node_page_bytes(files[file].node.size, index);
	if (bytes == 0)
		return -EINVAL;
	memcpy(page, files[file].data + index * FS_PAGE_SIZE, bytes);
	return bytes;
}

const struct node_class archive_class = { .page_in = archive_page_in };
