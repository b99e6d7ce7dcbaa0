/*
 * cmdline.h - options from the kernel command line: words `key` or `key=value`, separated by
 * blanks.
 *
 * Pure: compiled on the host by the unit tests. Of several words with one key the last counts. The
 * text is set once at boot and constant afterwards, so the readers need no lock.
 */
#pragma once

#include "kernel/types.h"

#define CMDLINE_MAX 1024

/* Copies the text. Returns 0, or -E2BIG if it was cut at CMDLINE_MAX - 1 bytes. */
int cmdline_set(const char *text);

/* The whole text. */
const char *cmdline_text(void);

/* True if the key occurs, with or without a value. */
bool cmdline_has(const char *key);

/*
 * Copies the value of `key=value`, always terminated. Returns its length; -ENOENT if the key does
 * not occur with a value; -E2BIG if it does not fit (buf then holds what does).
 */
int cmdline_get(const char *key, char *buf, size_t size);

/*
 * The number after `key=`, as parse_u64 reads it. 0, -ENOENT, or -EINVAL or -ERANGE for a bad
 * number.
 */
int cmdline_get_u64(const char *key, u64 *value);
