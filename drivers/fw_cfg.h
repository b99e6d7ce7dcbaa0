/*
 * fw_cfg.h - QEMU's firmware configuration device: named blobs from the QEMU command line.
 *
 * QEMU docs/specs/fw_cfg: selector port 0x510, data port 0x511, big-endian directory under key
 * 0x19.
 */
#pragma once

#include "kernel/types.h"

/*
 * Selects the named file and puts the device's one cursor at its start; fw_cfg_read then takes the
 * next bytes. Boot only, one user at a time. The file's length, or -ENODEV (no device), -ENOENT.
 */
s64 fw_cfg_open(const char *name);
void fw_cfg_read(void *buf, size_t len);

/*
 * Reads the named file into buf as a 0-terminated string, cut at size - 1. Boot only: the device
 * has one cursor. Returns the file's length, or -ENODEV (no device), -ENOENT (no such file).
 */
int fw_cfg_read_string(const char *name, char *buf, size_t size);
