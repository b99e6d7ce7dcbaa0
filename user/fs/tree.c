/* tree.c - which file a path names. */
#define _GNU_SOURCE
#include "user/fs/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "user/fs/archive.h"
#include "user/fs/gen.h"
#include "user/fs/path.h"
#include "user/fs/proc.h"
#include "user/fs/tmp.h"

static const char *const top[] = { "gen", "proc", "tmp" };

/* Streams have no cookie; all that programs need of their inode number is that it is not 0. */
#define STREAM_INODE 1

/* The name below a top directory, or NULL if path is not below it. */
static const char *below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (strncmp(path, directory, length) == 0 && path[length] == '/')
		return path + length + 1;
	return NULL;
}

static bool wants_write(unsigned int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

/* Appends the names in a directory; false when path is none. */
static bool list_directory(const char *path, struct text *out)
{
	if (strcmp(path, "gen") == 0)
		gen_list(out);
	else if (strcmp(path, "proc") == 0)
		proc_list(out);
	else if (strcmp(path, "tmp") == 0)
		tmp_list(out);
	else if (!archive_list(path, out))
		return false;
	if (*path == '\0')
		for (unsigned int i = 0; i < sizeof(top) / sizeof(top[0]); i++)
			text_printf(out, "%s\n", top[i]);
	return true;
}

static int open_file(const char *path, unsigned int flags, struct tree_file *file)
{
	const char *name;

	if ((name = below(path, "tmp")) != NULL)
		return tmp_find(name, flags, &file->node, &file->created);
	if ((name = below(path, "proc")) != NULL)
		return proc_read(name, &file->text);
	if ((name = below(path, "gen")) != NULL)
		return gen_find(name, &file->node);
	file->node = archive_find(path);
	return file->node ? 0 : -ENOENT;
}

/* Errors that depend on what was asked of a file that is there, or could be made. */
static int check_flags(const char *path, unsigned int flags, int found)
{
	if (below(path, "tmp"))
		return found;
	if (found == 0 && (flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	if (found == 0 && wants_write(flags))
		return -EROFS;
	if (found == -ENOENT && (flags & O_CREAT))
		return -EROFS;
	return found;
}

static int open_path(const char *path, unsigned int flags, struct tree_file *file)
{
	file->mode = S_IFDIR | 0755;
	if (list_directory(path, &file->text))
		return wants_write(flags) || (flags & O_CREAT) ? -EISDIR : 0;
	file->mode = S_IFREG | (below(path, "tmp") ? 0644 : 0555);
	if (flags & O_DIRECTORY) /* only asks whether it is there */
		return open_file(path, flags & ~(unsigned int)O_CREAT, file) == 0 ? -ENOTDIR :
										    -ENOENT;
	return check_flags(path, flags, open_file(path, flags, file));
}

int tree_open(const char *path, size_t length, unsigned int flags, struct tree_file *file)
{
	char normal[FS_PATH_SIZE];
	int error;

	memset(file, 0, sizeof(*file));
	error = path_normalise(path, length, normal);
	if (error == 0)
		error = open_path(normal, flags, file);
	if (error == 0 && file->text.failed)
		error = -ENOMEM;
	if (error)
		tree_let_go(file);
	file->inode = file->node ? file->node->cookie : STREAM_INODE;
	return error;
}

void tree_let_go(struct tree_file *file)
{
	text_free(&file->text);
	if (file->created)
		tmp_remove(file->node);
	else if (file->node)
		node_let_go(file->node);
	file->node = NULL;
}

int tree_unlink(const char *path, size_t length)
{
	char normal[FS_PATH_SIZE];
	struct tree_file file;
	const char *name;
	int error = path_normalise(path, length, normal);

	if (error)
		return error;
	name = below(normal, "tmp");
	if (name)
		return tmp_unlink(name);
	error = tree_open(path, length, O_RDONLY, &file);
	if (error)
		return error;
	error = S_ISDIR(file.mode) ? -EISDIR : -EROFS;
	tree_let_go(&file);
	return error;
}
