/*
 * exit.h - ends the run with a code the harness can see, or restarts the machine.
 */
#pragma once

#include "kernel/types.h"

#define DEBUG_EXIT_PORT 0xf4 /* -device isa-debug-exit,iobase=0xf4,iosize=0x04 */

/* Written to QEMU's isa-debug-exit device at port 0xf4; QEMU's status is then 2 * code + 1. */
enum exit_code {
	EXIT_PASS = 0x10,  /* status 33 */
	EXIT_FAIL = 0x11,  /* status 35 */
	EXIT_PANIC = 0x12, /* status 37 */
};

/* Debug-exit device, else ACPI power off (the S5 state), else halt. Any context. */
void __noreturn exit_machine(enum exit_code code);

/* By the ACPI reset register, else the keyboard controller, else halt. Any context. */
void __noreturn machine_reboot(void);
