/*
 * abi.h - what user programs and the kernel say to each other.
 *
 * Shared by the kernel and by every user program that makes native calls. Linux-numbered system
 * calls are not listed here: they have Linux's numbers, arguments, results and errno values.
 * Native calls start at 0x1000 and return a value >= 0 or a negative errno, like all others.
 */
#ifndef GATHER_ABI_H
#define GATHER_ABI_H

#ifdef GATHER_KERNEL
#include "kernel/types.h"
typedef u64 abi_u64;
typedef u32 abi_u32;
typedef u16 abi_u16;
typedef s32 abi_s32;
#else
#include <stdint.h>
typedef uint64_t abi_u64;
typedef uint32_t abi_u32;
typedef uint16_t abi_u16;
typedef int32_t abi_s32;
#endif

/* ---- Native system calls ------------------------------------------------------------------ */

#define SYS_native_base     0x1000
#define SYS_endpoint_create 0x1000 /* () -> handle */
#define SYS_handle_close    0x1001 /* (handle) -> 0 */
#define SYS_handle_mint     0x1002 /* (endpoint handle, badge) -> handle whose calls carry badge */
#define SYS_ipc_call        0x1003 /* (handle, struct ipc_msg *) -> 0; sends, waits for the reply */
#define SYS_ipc_recv        0x1004 /* (handle, struct ipc_msg *) -> 0; waits for a call */
#define SYS_ipc_reply       0x1005 /* (struct ipc_msg *) -> 0; answers msg->reply_to, or -ESRCH */
#define SYS_ipc_reply_recv  0x1006 /* (handle, struct ipc_msg *) -> 0; both in one step; if the
                                    * reply fails, nothing has been received */
#define SYS_handle_inherit  0x1007 /* (control handle, 0 or 1) -> 0; 1: children get it, too */
#define SYS_object_create   0x1010 /* (endpoint to receive on, cookie, bytes) -> object handle */
#define SYS_object_map      0x1011 /* (object handle, bytes, prot, offset) -> address (shared) */
#define SYS_object_resize   0x1012 /* (object handle, bytes) -> 0; pages past the end are dropped */
#define SYS_object_size     0x1013 /* (object handle) -> bytes */
#define SYS_move_range      0x1014 /* (address, bytes, node or MOVE_ANY_NODE, struct move_result *) -> 0 */
#define SYS_page_node       0x1015 /* (address, u8 *, pages) -> 0; each page's node or NODE_ABSENT */
#define SYS_info            0x1020 /* (enum info_kind, buffer, bytes) -> bytes written */
#define SYS_control         0x1021 /* (enum control_op, argument, bytes) -> 0; needs control, else -EPERM */

#define SYS_tlbprobe        0x1030 /* (experiment, address of a page to use) -> enum probe_answer */
#define SYS_vmtest          0x1031 /* (struct vmtest *) -> 0; needs control, else -EPERM */

#define NR_NODES 4 /* memory nodes at most; struct info_system says how many there are */

/* Moves the caller's own pages in a range; those that cannot be moved stay, and are counted. */
#define MOVE_ANY_NODE (~0ULL) /* other frames, wherever they are; a node: what is not there yet */
#define NODE_ABSENT   0xff    /* no page there now, or it is on the move */

struct move_result {
	abi_u64 moved, failed; /* pages */
	abi_u64 passes;
};

/* ---- Experiments with the TLB --------------------------------------------------------------- */

enum probe_answer {
	PROBE_OLD,   /* the translation that the TLB had */
	PROBE_NEW,   /* the one in the page table */
	PROBE_FAULT, /* a page fault */
	PROBE_EITHER, /* hardware may do either */
};

/* X(name, uses a kernel page, what is done, answers of hardware (SDM vol. 3, 4.10), QEMU, Bochs) */
#define TLB_PROBES(X)                                                                              \
	X(read_remapped, 0, "read; PTE to another frame; read", PROBE_OLD, PROBE_OLD, PROBE_OLD)   \
	X(read_unmapped, 0, "read; PTE cleared; read", PROBE_OLD, PROBE_OLD, PROBE_OLD)            \
	X(write_unmapped_clean, 0, "read; PTE cleared; write", PROBE_FAULT, PROBE_FAULT,           \
	  PROBE_FAULT)                                                                             \
	X(write_unmapped_dirty, 0, "write; PTE cleared; write", PROBE_OLD, PROBE_OLD, PROBE_OLD)   \
	X(write_remapped_clean, 0, "read; PTE to another frame; write", PROBE_EITHER, PROBE_NEW,   \
	  PROBE_NEW)                                                                               \
	X(write_protected_dirty, 0, "write; W taken from the PTE; write", PROBE_OLD, PROBE_OLD,    \
	  PROBE_OLD)                                                                               \
	X(write_unprotected, 0, "read; W given to the PTE; write", PROBE_EITHER, PROBE_NEW,        \
	  PROBE_NEW)                                                                               \
	X(read_made_present, 0, "fault; PTE made present; read", PROBE_NEW, PROBE_NEW, PROBE_NEW)  \
	X(accessed_cleared, 0, "read; A cleared; read: is A set again?", PROBE_OLD, PROBE_OLD,     \
	  PROBE_OLD)                                                                               \
	X(invlpg_frame, 0, "as the first, with INVLPG of the frame's address", PROBE_OLD,          \
	  PROBE_OLD, PROBE_OLD)                                                                    \
	X(invlpg_address, 0, "with INVLPG of the linear address", PROBE_NEW, PROBE_NEW, PROBE_NEW) \
	X(cr3_reload, 0, "with CR3 loaded again", PROBE_NEW, PROBE_NEW, PROBE_NEW)                 \
	X(global_cr3_reload, 1, "a global page, with CR3 loaded again", PROBE_OLD, PROBE_NEW,      \
	  PROBE_OLD)                                                                               \
	X(global_invlpg, 1, "a global page, with INVLPG", PROBE_NEW, PROBE_NEW, PROBE_NEW)         \
	X(global_pge_toggle, 1, "a global page, with CR4.PGE off and on", PROBE_NEW, PROBE_NEW,    \
	  PROBE_NEW)

/* ---- Experiments with vmalloc (tests/kernel/vmtest.c) ---------------------------------------- */

/* Linux's lib/test_vmalloc.c has the cases, with these names and `_test`. */
#define VMTEST_CASES(X)                                                                            \
	X(fix_size_alloc)           /* 3 pages */                                                  \
	X(full_fit_alloc)           /* 1 page, which fits into a hole among many areas */          \
	X(long_busy_list_alloc)     /* 100 pages and 1 page behind many areas */                   \
	X(random_size_alloc)        /* 1 to 100 pages */                                           \
	X(fix_align_alloc)          /* 5 pages at 32 KiB */                                        \
	X(random_size_align_alloc)  /* 1 to 10 pages at up to 4 MiB */                             \
	X(align_shift_alloc)        /* 1 page at every power of two */

enum vmtest_kind {
	VMTEST_LATENCY, /* how late the highest thread wakes while others vmalloc and vfree 8 KiB */
	VMTEST_LATENCY_RANDOM, /* the same, 1 to 32 pages */
#define X(name) VMTEST_##name,
	VMTEST_CASES(X)
#undef X
	NR_VMTESTS
};

#define VMTEST_BUCKETS     32
#define VMTEST_MAX_THREADS 256
#define VMTEST_MAX_PAGES   (1u << 24)
#define VMTEST_MAX_ROUNDS  (1u << 24)
#define VMTEST_MAX_SAMPLES 31999 /* p99.9 needs the largest 32 of them */
#define VMTEST_MAX_PURGES  1000000

/* Larger numbers, and none where one is needed: -EINVAL. */
struct vmtest {
	abi_u32 kind, threads;   /* enum vmtest_kind; how many work, one a CPU as far as there are */
	abi_u64 lazy_max_pages;  /* 0: as it is */
	abi_u64 rounds;          /* latency: at least so many samples; else operations per thread */
	abi_u64 min_purges;      /* latency: and so many purges */
	char policy[16];         /* empty: as it is */
	/* Results: written, never read. */
	abi_u64 samples, sum_ns, p999_ns, max_ns;
	abi_u64 histogram[VMTEST_BUCKETS]; /* samples of [2^i, 2^(i+1)) ns */
	abi_u64 operations, elapsed_ns, failed;
	abi_u64 purges, flushes, icr, targets, lazy_peak_pages;
};

/* ---- IPC ---------------------------------------------------------------------------------- */

#define IPC_WORDS        6
#define IPC_PAGE_SIZE    4096
#define IPC_NO_HANDLE    (-1)
#define IPC_BADGE_KERNEL (~0ULL) /* the call comes from the kernel itself; cannot be minted */

/*
 * A message: a label, a few words, at most one page of data and at most one handle. Sending: page
 * (may be 0) and page_len (<= 4096) name data to copy out; handle is one to pass on. Receiving:
 * page and page_cap name a buffer; page_len is then how much arrived, handle what arrived. reply_to
 * names the caller that waits: set by receive, read by reply.
 */
struct ipc_msg {
	abi_u64 label;
	abi_u64 words[IPC_WORDS];
	abi_u64 badge;
	abi_u64 page;
	abi_u32 page_len;
	abi_u32 page_cap;
	abi_s32 handle;
	abi_u32 reply_to;
};

/* ---- The file protocol: what the kernel asks a file server -------------------------------- */
/* Every reply: label = 0 or a negative errno. All calls carry IPC_BADGE_KERNEL and tell for
 * whom they are made: a task's id in words[FS_CLIENT_WORD], 0 for the kernel itself. A server
 * counts what each client holds, so that one who takes too much gets errors and nobody else. A
 * reply that cannot be delivered (-ESRCH) has had no effect: the server takes an open back. */

#define FS_CLIENT_WORD 5

#define FS_OPEN     1 /* page: path; words: [0] open flags, [1] mode
                       * reply: [0] file id, [1] size, [2] enum fs_kind, [3] inode number,
                       *        [4] stat(2)'s mode;
                       *        handle: the file's memory object when FS_KIND_OBJECT */
#define FS_CLOSE    2 /* words: [0] file id */
#define FS_READ     3 /* FS_KIND_STREAM; words: [0] file id, [1] offset, [2] bytes <= 4096
                       * reply: page: the data, [0] bytes (0 at the end) */
#define FS_TRUNCATE 4 /* words: [0] file id, [1] new size; the server resizes the memory object.
                       * -ENOMEM: not now, the kernel reclaims and asks again */
#define FS_UNLINK   5 /* page: path */
#define FS_EXTEND   6 /* words: [0] file id, [1] size; as FS_TRUNCATE, but never makes it shorter */

enum fs_kind {
	FS_KIND_OBJECT = 1, /* read, write and mmap go through the memory object */
	FS_KIND_STREAM = 2, /* generated text: read only, by FS_READ */
};

/* ---- The pager protocol: what the kernel asks the pager of a memory object ----------------- */

#define PAGER_PAGE_IN  16 /* words: [0] cookie, [1] page index; reply: page (short = zero filled) */
#define PAGER_PAGE_OUT 17 /* words: [0] cookie, [1] page index; page: the data */

#define MAX_SERVER_HANDLES 32768 /* what a server can hold; another task: 1024 */

/* Handles a boot task starts with. */
#define BOOT_HANDLE_SERVICE 0 /* file server: the endpoint it receives on */
#define BOOT_HANDLE_ARCHIVE 1 /* file server: memory object holding the boot archive (ustar) */
#define BOOT_HANDLE_CONTROL 0 /* monitor: control of the machine */

/* ---- Information -------------------------------------------------------------------------- */

enum info_kind {
	INFO_SYSTEM = 1, /* struct info_system */
	INFO_CPUS = 2,   /* struct info_cpu, one per online CPU */
	INFO_TASKS = 3,  /* struct info_task, one per task, as many as fit */
	INFO_VMSTAT = 4, /* struct info_vmstat */
	INFO_TRACE = 5,  /* struct trace_record, what the rings hold, in no order */
};

/* Why a flush was asked for. Counters are kept per reason. */
enum tlb_reason {
	TLB_RECLAIM, /* reclaim, through a batch or page by page */
	TLB_MIGRATE,
	TLB_UNMAP,   /* munmap, madvise, truncation */
	TLB_PROTECT, /* mprotect, write protection at fork */
	TLB_COW,     /* a copied page replaces a shared one */
	TLB_VMALLOC, /* kernel ranges */
	TLB_EXIT,    /* page tables about to go away */
	NR_TLB_REASONS
};

/* The counters of one CPU for one reason. taken + coalesced = targets, summed over all CPUs. */
struct tlb_counters {
	abi_u64 icr;       /* ICR writes (initiator) */
	abi_u64 targets;   /* CPUs a request was queued to (initiator) */
	abi_u64 taken;     /* interrupts taken for it (target) */
	abi_u64 coalesced; /* requests served by an interrupt already taken for another (target) */
	abi_u64 flushes;   /* flushes executed, local ones included */
	abi_u64 freed;     /* frames freed after the flush (initiator) */
	abi_u64 lazy;      /* CPUs skipped: lazy, or outside the kernel (initiator) */
};

struct info_system {
	abi_u32 cpus_present; /* in the MADT */
	abi_u32 cpus_online;
	abi_u64 uptime_ns;
	abi_u64 tsc_khz;
	abi_u64 mem_total_pages; /* managed by the frame allocator */
	abi_u64 mem_free_pages;
	abi_u64 mem_boot_pages; /* RAM in the firmware's map */
	abi_u64 active_file, inactive_file, active_anon, inactive_anon; /* pages */
	abi_u64 limbo_pages; /* gathered, not yet flushed */
	abi_u64 pagetable_pages;
	abi_u64 other_pages; /* the kernel's own, and what is pinned */
	abi_u64 watermark_min, watermark_low, watermark_high; /* pages */
	abi_u64 nr_nodes, node_free_pages[NR_NODES];
	abi_u32 batch_capacity; /* PFNs in one tlbflush_unmap_batch */
	abi_u32 interactive;    /* 1: a person is at the console */
	abi_u64 lazy_max_pages, lazy_pages; /* freed kernel addresses: how many may wait, and do */
	char tlb_policy[16];
	char migrate_policy[16];
	char purge_policy[16];
	char apic_mode[12]; /* "xapic" or "x2apic" */
	char boot_command[256]; /* run= from the command line: what the monitor does first */
	char cmdline[256];
};

struct info_cpu {
	abi_u32 cpu, apic_id;
	abi_u64 timer_irqs, resched_irqs, serial_irqs, spurious_irqs;
	abi_u64 context_switches, page_faults, syscalls, idle_ns;
	abi_u64 timer_late_ns; /* the longest that an alarm was late: interrupts were off */
	struct tlb_counters tlb[NR_TLB_REASONS];
};

struct info_task {
	abi_u32 pid, ppid, nr_threads, cpu;
	abi_u64 rss_pages;
	abi_u32 pinned;
	char state; /* R running or ready, S asleep, Z ended and not waited for */
	char name[27];
};

/*
 * Event counters, with Linux's names where Linux has the event. The kernel's enum has this order.
 */
#define VM_EVENTS(X)                                                                               \
	X(pgfault)                                                                                 \
	X(pgmajfault)     /* had to ask a pager */                                                 \
	X(pgscan)         /* pages looked at by reclaim */                                         \
	X(pgsteal_kswapd) /* pages freed by the background reclaimer */                            \
	X(pgsteal_direct) /* pages freed by an allocating thread */                                \
	X(pgactivate)                                                                              \
	X(pgdeactivate)                                                                            \
	X(pgrefill) /* active pages looked at */                                                   \
	X(pgpgin)   /* pages asked from and given to pagers */                                     \
	X(pgpgout)                                                                                 \
	X(unmapped_pages)   /* pages whose last PTE reclaim cleared */                             \
	X(unmapped_sharers) /* sum over them: other CPUs that may have held the translation */     \
	X(batch_allocated)                                                                         \
	X(batch_alloc_failed)                                                                      \
	X(batch_flushes)                                                                           \
	X(oom_kill)                                                                                \
	X(unknown_syscalls)                                                                        \
	X(cow_copies)                                                                              \
	X(pgmigrate_success)                                                                       \
	X(pgmigrate_fail)  /* pages given up after ten passes */                                   \
	X(migrate_passes)                                                                          \
	X(migration_waits) /* faults that waited for a page on the move */                         \
	X(compact_runs)                                                                            \
	X(thp_fault_alloc)    /* faults that mapped 2 MiB */                                       \
	X(thp_fault_fallback) /* faults that wanted to and had to do with a small page */          \
	X(thp_split)                                                                               \
	X(vmap_purges)     /* of freed kernel addresses; each is one flush */

struct info_vmstat {
#define X(name) abi_u64 name;
	VM_EVENTS(X)
#undef X
};

/* ---- The event trace (kernel/trace.h) ------------------------------------------------------- */

/*
 * X(event, first argument, second argument): the one source of the events' numbers and names.
 * An argument called `name` is text, up to 8 characters. A shootdown is known by the CPU that
 * started it and that CPU's sequence number.
 */
#define TRACE_EVENTS(X)                                                                            \
	X(map, va, pfn)             /* a user PTE became present */                                \
	X(unmap, va, pfn)           /* a user PTE was cleared; its flush is still to come */       \
	X(gather, pfn, in_batch)    /* a frame went to limbo; so many are there now */             \
	X(free, pfn, order)         /* frames went back to the allocator */                        \
	X(refault, va, index)       /* a fault has to ask the pager; the first time counts too */  \
	X(migrate, pfn, to_pfn)     /* a page's contents moved */                                  \
	X(purge, start, pages)      /* a freed kernel range became reusable */                     \
	X(switch, to_tid, name)     /* the record's thread gives the CPU to this one */            \
	X(lock_wait, name, holder)  /* a spinlock is taken; by which CPU */                        \
	X(syscall, number, arg)                                                                    \
	X(shootdown, targets, seq)  /* mask of the CPUs that must acknowledge */                   \
	X(icr, target, seq)         /* about to write the ICR */                                   \
	X(coalesced, target, seq)   /* no ICR write: that CPU's interrupt is on its way already */ \
	X(taken, initiators, count) /* the interrupt: mask of the CPUs it serves */                \
	X(flush, initiator, seq)    /* this TLB was flushed for that shootdown */                  \
	X(ack, initiator, seq)      /* about to acknowledge */                                     \
	X(done, reason, seq)        /* every target has acknowledged; enum tlb_reason */

enum trace_event {
#define X(event, a, b) TRACE_##event,
	TRACE_EVENTS(X)
#undef X
	NR_TRACE_EVENTS
};

/* One event, in a ring and in the file. */
struct trace_record {
	abi_u64 order; /* 1, 2, 3 ... over all CPUs; 0: no record, or one that is being written */
	abi_u64 ns;    /* the CPU's clock, for people to look at */
	abi_u32 tid;   /* of the current thread; 0: an idle one */
	abi_u16 cpu;
	abi_u16 event;
	abi_u64 a, b;
};

#define TRACE_RING_BYTES   65536 /* a CPU's */
#define TRACE_RING_RECORDS (TRACE_RING_BYTES / sizeof(struct trace_record))

/* ---- Control ------------------------------------------------------------------------------ */

enum control_op {
	CONTROL_TLB_POLICY = 1,  /* argument: name, bytes: its length */
	CONTROL_POWEROFF = 2,    /* argument: 0 all passed, anything else: something failed */
	CONTROL_REBOOT = 3,
	CONTROL_DROP_CACHES = 4, /* drop every clean unmapped file page */
	CONTROL_TRACE = 5,       /* argument: 1 records events, 0 stops */
	CONTROL_PURGE_POLICY = 6, /* argument: name, bytes: its length */
	CONTROL_LAZY_MAX = 7,    /* argument: pages of freed kernel addresses that may wait for a flush */
	CONTROL_MIGRATE_POLICY = 8, /* argument: name, bytes: its length; -EPERM: needs unsafe=1 */
};

#endif
