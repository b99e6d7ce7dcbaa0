/*
 * foreign.h - pages of memory objects whose pager is an ordinary program.
 *
 * Such a pager may never answer, or may need a page itself before it can. So nobody who must get on
 * waits for it: kswapd and direct reclaim leave the dirty pages of its objects alone, and kpageout,
 * a thread that nobody waits for without a way out, sends them home. What they can cost others is
 * bounded:
 *
 *   in number  all foreign objects together have at most a quarter of memory in the page cache.
 *              Who wants one more page first waits until kpageout has made room, killable; if two
 *              whole passes make none, the fault fails with -ENOMEM
 *   in time    a page-out that is not answered for foreign_patience_ns ends the pager's endpoint:
 *              its pages are dropped, whoever faults on them gets SIGBUS, the console one line
 *
 * And they are counted against the tasks that hold the object when one has to be ended (mm/oom.h).
 */
#pragma once

#include "drivers/clock.h"
#include "kernel/types.h"

extern u64 foreign_patience_ns; /* 10 s; a test has less */

/* Starts kpageout. Boot only. */
void foreign_init(void);
/* There are pages for it. Any context that may take a wait queue's lock. */
void wake_kpageout(void);
/* The page cache gets or loses a page of a foreign object. Any context. */
void foreign_page_added(void);
void foreign_page_gone(void);
/* Fewer than there may be, with some to spare. */
bool foreign_pages_have_room(void);
/* Before another one is made. 0, -EINTR when killed, -ENOMEM. May sleep. */
int wait_for_foreign_room(void);
/* An allocator found nothing else: have foreign pages gone within a moment? May sleep. */
bool wait_for_foreign_pages(void);
