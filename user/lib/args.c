/* args.c - reading options and numbers from a command line. */
#include "user/lib/args.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 16

/* What getopt_long answers for a long option: its place in the table is added to OPT_FIRST. */
enum { OPT_HELP = 256, OPT_FIRST };

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

/* The table as getopt_long wants it, in arrays of zeroes. */
static void for_getopt(const struct args_option *options, char *letters, struct option *words)
{
	*words++ = (struct option){ "help", no_argument, NULL, OPT_HELP };
	for (int i = 0; options[i].name; i++) {
		const char *name = options[i].name;

		assert(i < MAX_OPTIONS);
		if (name[1] == '-') {
			*words++ = (struct option){ name + 2, options[i].flag ? no_argument : required_argument,
						    NULL, OPT_FIRST + i };
		} else {
			*letters++ = name[1];
			*letters++ = ':';
		}
	}
}

static void take_option(const char *program, const struct args_option *options, int answer)
{
	const struct args_option *o = options;

	if (answer >= OPT_FIRST)
		o += answer - OPT_FIRST;
	else
		while (o->name[1] != answer)
			o++;
	if (o->number)
		*o->number = (unsigned int)args_number(program, o->name, optarg, o->min, o->max);
	else if (o->text)
		*o->text = optarg;
	else
		*o->flag = true;
}

int args_take(const char *program, const char *usage, const struct args_option *options, int argc,
	      char **argv)
{
	struct option words[MAX_OPTIONS + 2] = { 0 };
	char letters[2 * MAX_OPTIONS + 1] = "";
	int answer;

	for_getopt(options, letters, words);
	while ((answer = getopt_long(argc, argv, letters, words, NULL)) != -1) {
		if (answer == OPT_HELP) {
			fputs(usage, stdout);
			exit(EXIT_VERIFIED);
		}
		if (answer == '?') { /* getopt has said why */
			fputs(usage, stderr);
			exit(EXIT_USAGE);
		}
		take_option(program, options, answer);
	}
	return optind;
}

void args_take_all(const char *program, const char *usage, const struct args_option *options,
		   int argc, char **argv)
{
	int first = args_take(program, usage, options, argc, argv);

	if (first == argc)
		return;
	fprintf(stderr, "%s: '%s' is not an option\n%s", program, argv[first], usage);
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
