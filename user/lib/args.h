/*
 * args.h - reading numbers from a command line, with errors that say what was expected.
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

/* Leaves a number in a file, for a program that runs this one. On error says so on stderr. */
bool args_write_count(const char *program, const char *path, uint64_t count);

#endif
