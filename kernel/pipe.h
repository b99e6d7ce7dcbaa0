/*
 * pipe.h - pipes: a ring of bytes in kernel memory between two open files.
 *
 * Up to 64 KiB, as on Linux, in pages that are taken when bytes come and given back when they have
 * been read. All pipes together hold a sixteenth of memory; beyond that each has one page, so a
 * pipe never stops for good. Reads and writes block, and a kill ends the wait.
 */
#pragma once

#include "kernel/types.h"

struct file;
struct pipe;

#define PIPE_BUF PAGE_SIZE /* a write of so many bytes is not mixed with others */

/* The two ends of a new pipe; flags: O_NONBLOCK. -ENOMEM. */
int pipe_open(u32 flags, struct file **reader, struct file **writer);
/* Frames that it has now. Any context. */
u64 pipe_footprint(const struct pipe *pipe);
/* An end is closed. */
void pipe_close(struct pipe *pipe, bool writer);

/*
 * To user memory: at least one byte if `wait`, at most len. Bytes, 0 when all writers are gone,
 * -EAGAIN, -EFAULT, -EINTR.
 */
s64 pipe_read(struct pipe *pipe, u64 user_buf, u64 len, bool wait);
/*
 * All of data (len <= PIPE_BUF) in one piece. len, -EPIPE without a reader (the task is killed by
 * SIGPIPE: there are no handlers), -EAGAIN, -ENOMEM, -EINTR.
 */
s64 pipe_write(struct pipe *pipe, const void *data, u64 len, bool wait);
