/*
 * proc.h - the files in /proc: figures of the kernel in Linux's formats (proc(5)).
 */
#ifndef USER_FS_PROC_H
#define USER_FS_PROC_H

#include "user/fs/text.h"

/* Writes the text of /proc/<name> as of now. 0, -ENOENT, or the errno of the kernel's refusal. */
int proc_read(const char *name, struct text *out);

/* Appends the names, one per line. */
void proc_list(struct text *out);

#endif
