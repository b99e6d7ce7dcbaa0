/*
 * compact.h - compaction: packing movable pages away so that whole 2 MiB blocks become free.
 *
 * Two scanners over memory, 2 MiB at a time. One goes up from the bottom and takes the pages that
 * can be moved out of blocks in which nothing else is; the other comes down from the top and takes
 * free frames for them to go to. They end where they meet. (Linux: mm/compaction.c; Gorman, 2010.)
 *
 *   bottom                                                              top
 *   [m.m..m.][.mm....m][KKmm..m.]  ......            ......  [m..mm..m][mmmmmm.m]
 *    migrate scanner -->  pages ------------------------->  free frames  <-- free scanner
 *                         K: the kernel's own: the block is left alone
 *
 * The moves are migrate_pages', with one flush per batch. Direct: an allocation of a large block
 * that fails although enough frames are free. In the background: kcompactd, after such a failure,
 * until a few blocks are free again.
 */
#pragma once

#include "kernel/types.h"

#define COMPACT_ORDER 9 /* 2 MiB */

/* Reads compact= from the command line (off: never), starts kcompactd. Boot only. */
void compact_init(void);
/*
 * Try to make a free block of that order. true: there was one when it ended. Context: may sleep, no
 * page locked, the thread's batch empty. One at a time; false at once when compaction is off.
 */
bool compact_memory(unsigned order);
/*
 * A large allocation had to go without: let the background make room for the next one. Any context.
 */
void wake_kcompactd(void);
