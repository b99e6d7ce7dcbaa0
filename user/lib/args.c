/* args.c - reading numbers from a command line. */
#include "user/lib/args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool args_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;
	unsigned long long number;

	if (*text < '0' || *text > '9') /* strtoull would take a sign and leading blanks */
		return false;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || number < min || number > max)
		return false;
	*value = number;
	return true;
}

uint64_t args_number(const char *program, const char *option, const char *text, uint64_t min,
		     uint64_t max)
{
	uint64_t value;

	if (args_parse(text, min, max, &value))
		return value;
	fprintf(stderr, "%s: %s takes a number from %llu to %llu, not '%s' (try --help)\n", program,
		option, (unsigned long long)min, (unsigned long long)max, text);
	exit(EXIT_USAGE);
}

bool args_write_count(const char *program, const char *path, uint64_t count)
{
	FILE *file = fopen(path, "w");
	bool ok = file && fprintf(file, "%llu\n", (unsigned long long)count) > 0;

	if (file && fclose(file) != 0)
		ok = false;
	if (!ok)
		fprintf(stderr, "%s: %s: %s\n", program, path, strerror(errno));
	return ok;
}
