/* selftest.c - programs that check by themselves what a kernel does. */
#include "user/lib/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/lib/args.h"

int selftest_main(const char *program, const struct selftest *tests, int argc, char **argv)
{
	int bad, all = 0, found = 0;

	for (const struct selftest *t = tests; t->name; t++) {
		if (argc > 1 && strcmp(argv[1], t->name) != 0)
			continue;
		found++;
		bad = t->run();
		all += bad;
		printf("RESULT workload=%s test=%s bad=%d\n", program, t->name, bad);
		fflush(stdout);
	}
	if (found)
		return all ? EXIT_BAD_DATA : EXIT_VERIFIED;
	fprintf(stderr, "usage: %s [TEST], where TEST is one of\n", program);
	for (const struct selftest *t = tests; t->name; t++)
		fprintf(stderr, "  %s\n", t->name);
	return EXIT_USAGE;
}

int selftest_wrong(const char *what, int line)
{
	fprintf(stderr, "line %d: not so: %s (%s)\n", line, what, strerror(errno));
	return 1;
}

int selftest_refused(long result, int error)
{
	return result == -1 && errno == error;
}

int selftest_file(const char *path)
{
	int fd;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(EXIT_BROKEN);
	}
	return fd;
}
