/* sys_mm.c - the system calls on memory and memory objects: checks, then mmap.c and object.c. */
#include "arch/paging.h"
#include "arch/uaccess.h"
#include "kernel/file.h"
#include "kernel/ipc.h"
#include "kernel/syscall.h"
#include "kernel/user_range.h"
#include "mm/migrate.h"
#include "mm/mm.h"
#include "mm/node.h"
#include "mm/object.h"
#include "mm/page_alloc.h"

#define MAP_SHARED    0x01u
#define MAP_PRIVATE   0x02u
#define MAP_FIXED     0x10u
#define MAP_ANONYMOUS 0x20u
#define MAP_POPULATE  0x8000u
#define MAP_FIXED_NOREPLACE 0x100000u
#define MADV_DONTNEED   4
#define MADV_HUGEPAGE   14
#define MADV_NOHUGEPAGE 15
#define MCL_CURRENT   1u
#define MCL_FUTURE    2u

static s64 map_file(u64 addr, u64 len, u32 flags, u64 fd, u64 offset, enum map_how how)
{
	struct file *file __cleanup(file_cleanup) = fd_lookup(fd);

	if (!file)
		return -EBADF;
	if (file->kind != FILE_OBJECT)
		return -ENODEV;
	if (!(flags & VMA_SHARED) || file_writable(file))
		flags |= VMA_MAYWRITE;
	if ((flags & VMA_WRITE) && !(flags & VMA_MAYWRITE))
		return -EACCES;
	return mm_map(current->mm, addr, len, flags, file->object, offset / PAGE_SIZE, file, how);
}

static s64 map_anonymous(u64 addr, u64 len, u32 flags, enum map_how how)
{
	struct vm_object *object = NULL;
	s64 at;

	flags |= VMA_MAYWRITE;
	if (flags & VMA_SHARED) {
		object = object_create(OBJECT_SHMEM, NULL, 0, len);
		if (!object)
			return -ENOMEM;
	}
	at = mm_map(current->mm, addr, len, flags, object, 0, NULL, how);
	object_put(object);
	return at;
}

s64 sys_mmap(u64 addr, u64 len, u64 prot, u64 map, u64 fd, u64 offset)
{
	bool shared = map & MAP_SHARED;
	enum map_how how = map & MAP_FIXED_NOREPLACE ? MAP_IF_FREE :
			   map & MAP_FIXED	     ? MAP_REPLACE :
						       MAP_NEAR;
	u32 flags = (u32)(prot & VMA_PROT) | (shared ? VMA_SHARED : 0);
	s64 at;

	if (shared == !!(map & MAP_PRIVATE) || (prot & ~(u64)VMA_PROT) || !len ||
	    !IS_ALIGNED(offset, PAGE_SIZE))
		return -EINVAL;
	if (len > USER_END)
		return -ENOMEM;
	at = map & MAP_ANONYMOUS ? map_anonymous(addr, len, flags, how) :
				   map_file(addr, len, flags, fd, offset, how);
	if (at > 0 && (map & MAP_POPULATE))
		(void)mm_populate(current->mm, (u64)at, (u64)at + ALIGN_UP(len, PAGE_SIZE));
	return at;
}

s64 sys_munmap(u64 addr, u64 len)
{
	return mm_unmap(current->mm, addr, len);
}

s64 sys_mprotect(u64 addr, u64 len, u64 prot)
{
	return prot & ~(u64)VMA_PROT ? -EINVAL : mm_protect(current->mm, addr, len, (u32)prot);
}

s64 sys_madvise(u64 addr, u64 len, u64 advice)
{
	switch (advice) {
	case MADV_DONTNEED:
		return mm_discard(current->mm, addr, len);
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
		return mm_advise_huge(current->mm, addr, len, advice == MADV_HUGEPAGE);
	}
	return -EINVAL;
}

s64 sys_move_range(u64 addr, u64 len, u64 node, u64 result_addr)
{
	struct migrate_result result = {0};
	u64 end;
	int err;

	if (!user_pages(addr, len, &end))
		return -EINVAL;
	err = migrate_range(current->mm, addr, end, node, &result);
	if (err)
		return err;
	return copy_to_user(result_addr, &(struct move_result){result.moved, result.failed,
							       result.passes},
			    sizeof(struct move_result));
}

static u8 page_node(struct mm *mm, u64 va)
{
	pte_t *pte, value;

	spin_guard(&mm->ptl);
	pte = pte_lookup(mm->pml4, va);
	value = pte ? pte_read(pte) : 0;
	return value & PTE_P ? (u8)pfn_to_node(pte_pfn(value)) : NODE_ABSENT;
}

s64 sys_page_node(u64 addr, u64 buf, u64 pages)
{
	u64 i, end;
	u8 node;

	if (!IS_ALIGNED(addr, PAGE_SIZE) || pages > USER_END / PAGE_SIZE ||
	    !user_range(addr, pages * PAGE_SIZE, &end))
		return -EINVAL;
	for (i = 0; i < pages && !thread_killed(current); i++) {
		node = page_node(current->mm, addr + i * PAGE_SIZE);
		if (copy_to_user(buf + i, &node, 1))
			return -EFAULT;
	}
	return 0;
}

s64 sys_brk(u64 brk)
{
	return (s64)mm_brk(current->mm, brk);
}

s64 sys_mlockall(u64 flags)
{
	if (!flags || (flags & ~(u64)(MCL_CURRENT | MCL_FUTURE)))
		return -EINVAL;
	return mm_lock_all(current->mm, flags & MCL_CURRENT, flags & MCL_FUTURE);
}

/* ---- Memory objects, by handle --------------------------------------------------------------- */

s64 sys_object_create(u64 endpoint, u64 cookie, u64 size)
{
	struct cap pager __cleanup(cap_cleanup) = {0};
	s64 err = handle_lookup(current->task, endpoint, CAP_ENDPOINT, &pager);
	struct vm_object *object;

	if (err)
		return err;
	/* The kernel will call it with its own badge: only the receiver may ask for that. */
	if (!(pager.rights & CAP_RECEIVE))
		return -EPERM;
	if ((s64)size < 0)
		return -EINVAL;
	object = object_create(OBJECT_PAGED, pager.ptr, cookie, size);
	if (!object)
		return -ENOMEM;
	return handle_install(current->task, (struct cap){CAP_OBJECT, 0, object, 0});
}

s64 sys_object_map(u64 handle, u64 len, u64 prot, u64 offset)
{
	struct cap cap __cleanup(cap_cleanup) = {0};
	s64 err = handle_lookup(current->task, handle, CAP_OBJECT, &cap);
	struct vm_object *object = cap.ptr;

	if (err)
		return err;
	if (!IS_ALIGNED(offset, PAGE_SIZE) || (prot & ~(u64)VMA_PROT))
		return -EINVAL;
	if (object->kind == OBJECT_BOOT && (prot & VMA_WRITE))
		return -EACCES;
	return mm_map(current->mm, 0, len, (u32)prot | VMA_SHARED, object, offset / PAGE_SIZE, NULL,
		      MAP_NEAR);
}

/* Only the pager of an object may say how long it is. */
s64 sys_object_resize(u64 handle, u64 size)
{
	struct cap cap __cleanup(cap_cleanup) = {0};
	s64 err = handle_lookup(current->task, handle, CAP_OBJECT, &cap);
	struct vm_object *object = cap.ptr;

	if (err)
		return err;
	if (object->kind != OBJECT_PAGED || object->pager->owner != current->task)
		return -EPERM;
	if ((s64)size < 0)
		return -EINVAL;
	object_resize(object, size);
	return 0;
}

s64 sys_object_size(u64 handle)
{
	struct cap cap __cleanup(cap_cleanup) = {0};
	s64 err = handle_lookup(current->task, handle, CAP_OBJECT, &cap);

	return err ? err : (s64)READ_ONCE(((struct vm_object *)cap.ptr)->size);
}
