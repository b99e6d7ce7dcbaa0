/*
 * shim.h - what kernel sources need to run in a test: panic, log, page descriptors.
 *
 * panic ends the test as a failed assertion, or is what expect_assert_failure() waits for.
 */
#ifndef TESTS_HOST_SHIM_H
#define TESTS_HOST_SHIM_H

#include <stddef.h>
#include <stdint.h>

#define HOST_FRAMES 4096

extern char host_panic_message[512]; /* the last panic's */

/* All HOST_FRAMES descriptors zeroed; mem_map and max_pfn describe them. */
void host_reset(void);

/* A small fast generator (xorshift64*): the same seed gives the same test on every machine. */
uint64_t host_random(uint64_t *state);

#endif
