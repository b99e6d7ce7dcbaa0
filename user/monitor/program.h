/*
 * program.h - runs a program from /bin and waits for it.
 */
#ifndef USER_MONITOR_PROGRAM_H
#define USER_MONITOR_PROGRAM_H

#include <stdbool.h>

/*
 * Runs /bin/argv[0] (or argv[0] itself, when it has a '/'), waits, and says how it ended:
 * `run: NAME: exit N` or `run: NAME: killed by signal N`. True when it exited with 0.
 */
bool program_run(char *const argv[]);

#endif
