/* commands.c - the table of the monitor's commands, and the small ones. */
#include "user/monitor/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "user/lib/args.h"
#include "user/monitor/line.h"
#include "user/monitor/program.h"
#include "user/monitor/system.h"
#include "user/monitor/words.h"

static bool command_help(int argc, char **argv);

static bool number_wanted(const char *command, const char *text)
{
	printf("%s: '%s' is not a number it can use\n", command, text);
	return false;
}

static bool command_run(int argc, char **argv)
{
	(void)argc;
	return program_run(argv + 1);
}

static bool command_wait(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return program_reap(true);
}

static bool command_kill(int argc, char **argv)
{
	uint64_t pid;

	(void)argc;
	if (!args_parse(argv[1], 1, INT32_MAX, &pid))
		return number_wanted("kill", argv[1]);
	if (kill((pid_t)pid, SIGKILL) == 0)
		return true;
	printf("kill: %s: %s (`ps` shows the tasks)\n", argv[1], strerror(errno));
	return false;
}

static bool command_sleep(int argc, char **argv)
{
	uint64_t seconds;
	struct timespec duration = { 0 };

	(void)argc;
	if (!args_parse(argv[1], 0, 86400, &seconds))
		return number_wanted("sleep", argv[1]);
	duration.tv_sec = (time_t)seconds;
	return nanosleep(&duration, NULL) == 0;
}

static bool command_poweroff(int argc, char **argv)
{
	uint64_t status = 0;

	if (argc > 1 && !args_parse(argv[1], 0, 255, &status))
		return number_wanted("poweroff", argv[1]);
	return system_control(CONTROL_POWEROFF, status, "to power off");
}

static bool command_reboot(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return system_control(CONTROL_REBOOT, 0, "to reboot");
}

static const struct command commands[] = {
	{ "cat", "PATH", "shows a file", 1, 1, command_cat },
	{ "help", "[COMMAND]", "this list, or one line of it", 0, 1, command_help },
	{ "kill", "PID", "ends a task", 1, 1, command_kill },
	{ "ls", "[PATH]", "lists a directory", 0, 1, command_ls },
	{ "mem", "", "where the memory is", 0, 0, command_mem },
	{ "migrate", "[page|batch|late|clean-late]", "shows or sets how migration flushes TLBs", 0,
	  1, command_migrate },
	{ "poweroff", "[STATUS]", "ends the run; 0 (default) means all is well", 0, 1,
	  command_poweroff },
	{ "ps", "", "lists the tasks", 0, 0, command_ps },
	{ "purge", "[POLICY [PAGES]]", "shows or sets how freed kernel addresses are purged", 0, 2,
	  command_purge },
	{ "reboot", "", "starts the machine again", 0, 0, command_reboot },
	{ "run", "PROGRAM [ARGUMENT...] [&]", "runs a program from /bin; with & in the background", 1,
	  MAX_WORDS, command_run },
	{ "sleep", "SECONDS", "waits", 1, 1, command_sleep },
	{ "stat", "", "interrupts, switches and TLB flushes, per CPU and per reason", 0, 0,
	  command_stat },
	{ "tlb", "[page|batch32|pfn|full]", "shows or sets how reclaim flushes TLBs", 0, 1,
	  command_tlb },
	{ "trace", "on|off|dump [EVENTS]", "records events; shows the last of them, 64 by default", 1,
	  2, command_trace },
	{ "wait", "", "waits for the programs in the background", 0, 0, command_wait },
	{ "tour", "[MiB]", "measures reclaim, with a file of that size, migration and purges", 0, 1,
	  command_tour },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

const char *const *commands_names(void)
{
	static const char *names[NR_COMMANDS + 1];

	for (unsigned int i = 0; i < NR_COMMANDS; i++)
		names[i] = commands[i].name;
	return names;
}

static const struct command *find(const char *name)
{
	const char *nearest;

	for (unsigned int i = 0; i < NR_COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	nearest = words_nearest(name, commands_names());
	if (nearest)
		printf("no command '%s'; did you mean '%s'?\n", name, nearest);
	else
		printf("no command '%s'; `help` lists them, `run %s` runs a program\n", name, name);
	return NULL;
}

static void print_help(const struct command *c)
{
	printf("  %-8s %-24s %s\n", c->name, c->arguments, c->help);
}

static bool command_help(int argc, char **argv)
{
	const struct command *one = NULL;

	if (argc > 1 && !(one = find(argv[1])))
		return false;
	for (unsigned int i = 0; i < NR_COMMANDS; i++)
		if (!one || one == &commands[i])
			print_help(&commands[i]);
	return true;
}

bool commands_execute(char *line)
{
	char *argv[MAX_WORDS + 1];
	int argc = words_split(line, argv);
	const struct command *c;

	program_reap(false);
	if (argc == 0)
		return true;
	if (argc < 0) {
		printf("more than %d words\n", MAX_WORDS);
		return false;
	}
	c = find(argv[0]);
	if (!c)
		return false;
	if (argc - 1 < c->min_arguments || argc - 1 > c->max_arguments) {
		printf("usage: %s %s\n", c->name, c->arguments);
		return false;
	}
	return c->run(argc, argv);
}

bool commands_execute_script(const char *script)
{
	char line[LINE_SIZE];
	bool ok = true;

	while (words_next_command(&script, line, sizeof(line)))
		ok &= commands_execute(line);
	return ok;
}
