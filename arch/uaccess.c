/* uaccess.c - user copies with an exception table entry each (see uaccess.h). */
#include "arch/uaccess.h"
#include "arch/cpu.h"
#include "kernel/errno.h"
#include "kernel/user_range.h"

static bool user_range_ok(u64 addr, size_t len)
{
	u64 end;

	return user_range(addr, len, &end);
}

/* AC lets the kernel touch user pages (SMAP; without it STAC is not an instruction). */
static void allow_user_access(bool allow)
{
	if (!(read_cr4() & CR4_SMAP))
		return;
	if (allow)
		stac();
	else
		clac();
}

/* A string instruction leaves in RCX what was not done; the fixup continues right behind it. */
#define USER_STRING_OP(insn, dst, src, count, rax)                                                 \
	__asm__ volatile("1: rep " insn "\n"                                                       \
			 "2:\n"                                                                    \
			 ".pushsection __ex_table,\"a\"\n"                                         \
			 ".balign 4\n"                                                             \
			 ".long 1b - .\n"                                                          \
			 ".long 2b - .\n"                                                          \
			 ".popsection\n"                                                           \
			 : "+D"(dst), "+S"(src), "+c"(count)                                       \
			 : "a"(rax)                                                                \
			 : "memory")

static size_t raw_copy(void *to, const void *from, size_t len)
{
	size_t words = len / 8, bytes = len % 8;

	allow_user_access(true);
	USER_STRING_OP("movsq", to, from, words, 0);
	if (!words)
		USER_STRING_OP("movsb", to, from, bytes, 0);
	allow_user_access(false);
	return words + bytes;
}

static size_t raw_clear(void *to, size_t len)
{
	const void *unused = NULL;

	allow_user_access(true);
	USER_STRING_OP("stosb", to, unused, len, 0);
	allow_user_access(false);
	return len;
}

int copy_from_user(void *to, u64 from, size_t len)
{
	return user_range_ok(from, len) && !raw_copy(to, (const void *)from, len) ? 0 : -EFAULT;
}

int copy_to_user(u64 to, const void *from, size_t len)
{
	return user_range_ok(to, len) && !raw_copy((void *)to, from, len) ? 0 : -EFAULT;
}

int clear_user(u64 to, size_t len)
{
	return user_range_ok(to, len) && !raw_clear((void *)to, len) ? 0 : -EFAULT;
}

s64 strncpy_from_user(char *to, u64 from, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (copy_from_user(&to[i], from + i, 1))
			return -EFAULT;
		if (!to[i])
			return (s64)i;
	}
	return -ENAMETOOLONG;
}
