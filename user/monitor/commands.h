/*
 * commands.h - the table of the monitor's commands.
 *
 * A command gets its words (argv[0] is its name) and returns whether it did what was asked; it
 * says what went wrong itself.
 */
#ifndef USER_MONITOR_COMMANDS_H
#define USER_MONITOR_COMMANDS_H

#include <stdbool.h>

struct command {
	const char *name;
	const char *arguments;
	const char *help;
	int min_arguments, max_arguments;
	bool (*run)(int argc, char **argv);
};

/* Splits and runs one line, in place. True for an empty one. */
bool commands_execute(char *line);

/* Runs the commands of a script (words.h) in turn; false when one of them failed. */
bool commands_execute_script(const char *script);

/* All names, ending with NULL. */
const char *const *commands_names(void);

/* One file per group. */
bool command_stat(int argc, char **argv);     /* show.c */
bool command_mem(int argc, char **argv);
bool command_ps(int argc, char **argv);
bool command_tlb(int argc, char **argv);      /* policy.c */
bool command_migrate(int argc, char **argv);
bool command_purge(int argc, char **argv);
bool command_trace(int argc, char **argv);    /* trace.c */
bool command_cat(int argc, char **argv);      /* files.c */
bool command_ls(int argc, char **argv);
bool command_tour(int argc, char **argv);     /* tour.c */

#endif
