/* console.h - what is typed on COM1, as bytes, for whoever reads the console. */
#pragma once

#include "kernel/types.h"

/* Boot only: take over the serial port's interrupt. */
void console_init(void);
/*
 * At least one byte, waiting for it if `wait`; at most len. Bytes, -EAGAIN, -EFAULT, -EINTR. May
 * sleep.
 */
s64 console_read(u64 user_buf, u64 len, bool wait);
