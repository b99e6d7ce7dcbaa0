/*
 * gather.h - the native system calls of Gather, as C functions.
 *
 * Every function returns what the kernel returned (>= 0), or -1 with errno set, like any Linux
 * call. On Linux all of them fail with ENOSYS. user/abi.h says what each call means.
 */
#ifndef USER_LIB_GATHER_H
#define USER_LIB_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "user/abi.h"

static inline int gather_handle_close(int handle)
{
	return (int)syscall(SYS_handle_close, handle);
}

static inline int gather_handle_inherit(int control, bool on)
{
	return (int)syscall(SYS_handle_inherit, control, on);
}

static inline int gather_endpoint_create(void)
{
	return (int)syscall(SYS_endpoint_create);
}

static inline int gather_handle_mint(int endpoint, uint64_t badge)
{
	return (int)syscall(SYS_handle_mint, endpoint, badge);
}

static inline int gather_ipc_call(int endpoint, struct ipc_msg *msg)
{
	return (int)syscall(SYS_ipc_call, endpoint, msg);
}

static inline int gather_ipc_recv(int endpoint, struct ipc_msg *msg)
{
	return (int)syscall(SYS_ipc_recv, endpoint, msg);
}

static inline int gather_ipc_reply(struct ipc_msg *msg)
{
	return (int)syscall(SYS_ipc_reply, msg);
}

static inline int gather_ipc_reply_recv(int endpoint, struct ipc_msg *msg)
{
	return (int)syscall(SYS_ipc_reply_recv, endpoint, msg);
}

static inline int gather_object_create(int endpoint, uint64_t cookie, uint64_t bytes)
{
	return (int)syscall(SYS_object_create, endpoint, cookie, bytes);
}

/* Returns (void *)-1, which is MAP_FAILED, on error. */
static inline void *gather_object_map(int object, uint64_t bytes, int prot, uint64_t offset)
{
	return (void *)syscall(SYS_object_map, object, bytes, prot, offset);
}

static inline int gather_object_resize(int object, uint64_t bytes)
{
	return (int)syscall(SYS_object_resize, object, bytes);
}

static inline long gather_object_size(int object)
{
	return syscall(SYS_object_size, object);
}

static inline int gather_move_range(void *start, size_t bytes, uint64_t node,
				    struct move_result *result)
{
	return (int)syscall(SYS_move_range, start, bytes, node, result);
}

/* One byte for each page: its node, or NODE_ABSENT. */
static inline int gather_page_node(const void *start, uint8_t *nodes, size_t pages)
{
	return (int)syscall(SYS_page_node, start, nodes, pages);
}

static inline long gather_info(enum info_kind kind, void *buffer, size_t bytes)
{
	return syscall(SYS_info, kind, buffer, bytes);
}

static inline int gather_tlbprobe(unsigned int experiment, void *page)
{
	return (int)syscall(SYS_tlbprobe, experiment, page);
}

static inline int gather_vmtest(struct vmtest *test)
{
	return (int)syscall(SYS_vmtest, test);
}

static inline int gather_control(enum control_op op, uint64_t argument, size_t bytes)
{
	return (int)syscall(SYS_control, op, argument, bytes);
}

#endif
