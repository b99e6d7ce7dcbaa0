/*
 * args.h - reading options and numbers from a command line, with errors that say what is wrong.
 */
#ifndef USER_LIB_ARGS_H
#define USER_LIB_ARGS_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses all workloads share. */
enum exit_status {
	EXIT_VERIFIED = 0,
	EXIT_BAD_DATA = 1, /* something read back wrong */
	EXIT_USAGE = 2,
	EXIT_BROKEN = 3, /* could not run to its end */
};

/* Reads a whole decimal number within [min, max]; false when text is anything else. */
bool args_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* The same for an option of a program: on error says so on stderr and exits with EXIT_USAGE. */
uint64_t args_number(const char *program, const char *option, const char *text, uint64_t min,
		     uint64_t max);

/* An option as it is written, "-n" or "--mib", and where its value goes: one of three pointers. */
struct args_option {
	const char *name;
	unsigned int *number; /* within [min, max] */
	unsigned int min, max;
	const char **text;
	bool *flag; /* set; only a long option can be one */
};

/*
 * Stores the options of a command line as a table says that ends with {0}; returns the index of the
 * first other argument, all of which are last then. On error says so on stderr and exits with
 * EXIT_USAGE; --help, which every program has, shows the usage and exits.
 */
int args_take(const char *program, const char *usage, const struct args_option *options, int argc,
	      char **argv);

/* The same for a program that takes nothing but options. */
void args_take_all(const char *program, const char *usage, const struct args_option *options,
		   int argc, char **argv);

/* Leaves a number in a file, for a program that runs this one. On error says so on stderr. */
bool args_write_count(const char *program, const char *path, uint64_t count);

#endif
