/* files.c - commands that read files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/monitor/commands.h"

static bool complain(const char *command, const char *path)
{
	printf("%s: %s: %s\n", command, path, strerror(errno));
	return false;
}

static bool show_file(const char *command, const char *path, int flags)
{
	char buffer[1024];
	ssize_t n;
	int fd = open(path, flags);

	if (fd < 0)
		return complain(command, path);
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		fwrite(buffer, 1, (size_t)n, stdout);
	if (n < 0)
		complain(command, path);
	close(fd);
	return n == 0;
}

bool command_cat(int argc, char **argv)
{
	(void)argc;
	return show_file("cat", argv[1], O_RDONLY);
}

/* Reading a directory gives its names: there is no getdents on Gather. */
bool command_ls(int argc, char **argv)
{
	return show_file("ls", argc > 1 ? argv[1] : "/", O_RDONLY | O_DIRECTORY);
}
