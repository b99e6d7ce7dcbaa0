/*
 * program.h - runs programs from /bin, in the foreground or behind it.
 */
#ifndef USER_MONITOR_PROGRAM_H
#define USER_MONITOR_PROGRAM_H

#include <stdbool.h>

/*
 * Runs /bin/argv[0] (or argv[0] itself, when it has a '/'), waits, and says how it ended:
 * `run: NAME: exit N` or `run: NAME: killed by signal N`. True when it exited with 0. A last word
 * `&` is taken off: then it does not wait, and program_reap reports the end later.
 */
bool program_run(char *argv[]);

/*
 * Reports the programs in the background that have ended; with wait, waits for all of them first.
 * True if none ended badly.
 */
bool program_reap(bool wait);

#endif
