/* exec.h - replacing a task's program. */
#pragma once

#include "kernel/types.h"

struct file;
struct task;
struct trap_frame;
struct vm_object;

/* Argument and environment strings in one kernel block: count strings, each with its 0. */
#define EXEC_STRINGS_SIZE (4 * PAGE_SIZE)

struct exec_args {
	char *strings; /* EXEC_STRINGS_SIZE bytes */
	u32 used;
	u32 argc, envc; /* argv strings first */
};

int exec_args_alloc(struct exec_args *args); /* args zeroed before; -ENOMEM */
void exec_args_free(struct exec_args *args);
/* Append one argument; -E2BIG. */
int exec_args_add(struct exec_args *args, const char *string);

/*
 * Give the current task the program in object and fill tf to enter it. file (may be NULL) stays
 * open while mapped. Errors before the point of no return leave everything as it was; after it the
 * task is killed. Its other threads end; this one has the task's id then. May sleep.
 */
int exec_object(struct vm_object *object, struct file *file, const char *name,
		const struct exec_args *args, struct trap_frame *tf);
