/*
 * main.c - the monitor: runs the boot command, then talks to the person at the console.
 *
 * Without a person it powers off after the boot command, with 0 only if every command succeeded.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "user/monitor/commands.h"
#include "user/monitor/line.h"
#include "user/monitor/system.h"

static struct line_editor editor;

static void show(void *context, const char *bytes, size_t length)
{
	(void)context;
	fwrite(bytes, 1, length, stdout);
}

/* False when the console has no more input. */
static bool read_line(void)
{
	unsigned char byte;

	line_start(&editor);
	do {
		fflush(stdout);
		if (read(STDIN_FILENO, &byte, 1) != 1)
			return false;
	} while (!line_input(&editor, byte));
	return true;
}

static void talk(void)
{
	puts("\nType `help` for the commands.");
	line_init(&editor, "gather> ", commands_names(), show, NULL);
	while (read_line()) {
		char line[LINE_SIZE];

		memcpy(line, editor.text, sizeof(line));
		commands_execute(line);
	}
	puts("\nmonitor: the console is gone");
}

/* Empty: the tour. One that fills its field has been cut, and half a command may do harm. */
static bool run_boot_command(const struct info_system *sys)
{
	size_t length = strnlen(sys->boot_command, sizeof(sys->boot_command));

	if (length == 0)
		return commands_execute_script("tour");
	if (length < sizeof(sys->boot_command) - 1)
		return commands_execute_script(sys->boot_command);
	printf("monitor: run= is too long: at most %zu characters\n",
	       sizeof(sys->boot_command) - 2);
	return false;
}

int main(void)
{
	struct info_system sys;
	bool ok;

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) /* it must outlive the file server */
		printf("monitor: not locked in memory: %s\n", strerror(errno));
	if (!system_info(&sys)) {
		puts("monitor: this program is for the Gather kernel");
		return 1;
	}
	ok = run_boot_command(&sys);
	if (sys.interactive)
		talk();
	fflush(stdout);
	system_control(CONTROL_POWEROFF, ok ? 0 : 1, "to power off");
	return ok ? 0 : 1;
}
