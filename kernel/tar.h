/*
 * tar.h - finding one file in a ustar archive in memory: the kernel needs just the file server.
 * Pure: also built on the host. The archive is untrusted.
 */
#ifndef KERNEL_TAR_H
#define KERNEL_TAR_H

#include "kernel/types.h"

/* The contents of the regular file `name`, or NULL with *why saying what is wrong. */
const void *tar_find(const void *archive, size_t size, const char *name, size_t *file_size,
		     const char **why);

#endif
