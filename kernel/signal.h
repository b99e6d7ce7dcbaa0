/*
 * signal.h - signals, as far as they exist: they end a task, do nothing, or are ignored on request.
 *
 * There are no handlers, no masks and no stopped tasks. A signal that ends a task ends all of it,
 * at once, whatever thread it was sent to. Who may send one: a task to itself and to its
 * descendants; with control of the machine (handle.h) to any. What a task ignores its children
 * ignore too, and its next program.
 */
#pragma once

#include "kernel/types.h"

#define NSIG 64 /* signals are 1 to 64 */

#define SIGILL   4
#define SIGABRT  6
#define SIGBUS   7
#define SIGFPE   8
#define SIGKILL  9
#define SIGSEGV  11
#define SIGCHLD  17
#define SIGCONT  18
#define SIGSTOP  19
#define SIGTSTP  20
#define SIGTTIN  21
#define SIGTTOU  22
#define SIGURG   23
#define SIGWINCH 28

#define SIGNAL_BIT(signal) BIT((signal) - 1)
