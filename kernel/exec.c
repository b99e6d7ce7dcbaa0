/* exec.c - loading a program: segments, stack, registers (see exec.h). */
#include "kernel/exec.h"
#include "arch/cpu.h"
#include "arch/fpu.h"
#include "arch/switch.h"
#include "arch/trap.h"
#include "arch/uaccess.h"
#include "kernel/elf.h"
#include "kernel/file.h"
#include "kernel/lib.h"
#include "kernel/signal.h"
#include "kernel/syscall.h"
#include "kernel/task.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/vmalloc.h"

#define STACK_TOP  0x00007ffffff00000ull
#define STACK_SIZE (1 * MIB) /* below it nothing is mapped: overflow faults */
#define MAX_ARGS   256
#define PATH_LIMIT 256

/* ---- Strings --------------------------------------------------------------------------------- */

int exec_args_alloc(struct exec_args *args)
{
	args->strings = vzalloc(EXEC_STRINGS_SIZE);
	return args->strings ? 0 : -ENOMEM;
}

void exec_args_free(struct exec_args *args)
{
	if (args->strings)
		vfree(args->strings);
}

static int count_string(struct exec_args *args, size_t len, bool env)
{
	if (args->argc + args->envc == MAX_ARGS)
		return -E2BIG;
	args->used += (u32)len + 1;
	if (env)
		args->envc++;
	else
		args->argc++;
	return 0;
}

int exec_args_add(struct exec_args *args, const char *string)
{
	size_t len = strlen(string);

	if (len + 1 > EXEC_STRINGS_SIZE - args->used)
		return -E2BIG;
	memcpy(args->strings + args->used, string, len + 1);
	return count_string(args, len, false);
}

static int add_user_strings(struct exec_args *args, u64 vector, bool env)
{
	u64 pointer;
	s64 len;
	int err;

	if (!vector)
		return 0;
	for (;; vector += sizeof(u64)) {
		if (get_user(&pointer, vector))
			return -EFAULT;
		if (!pointer)
			return 0;
		len = strncpy_from_user(args->strings + args->used, pointer,
					EXEC_STRINGS_SIZE - args->used);
		if (len < 0)
			return len == -ENAMETOOLONG ? -E2BIG : (int)len;
		err = count_string(args, (size_t)len, env);
		if (err)
			return err;
	}
}

/* ---- Segments -------------------------------------------------------------------------------- */

static int map_fixed(struct mm *mm, u64 start, u64 end, u32 flags, struct vm_object *object,
		     u64 pgoff, struct file *file)
{
	s64 at = start < end ? mm_map(mm, start, end - start, flags, object, pgoff, file, MAP_REPLACE) : 0;

	return at < 0 ? (int)at : 0;
}

static int map_segment(struct mm *mm, const struct elf_segment *s, struct vm_object *object,
		       struct file *file)
{
	u64 start = ALIGN_DOWN(s->vaddr, PAGE_SIZE), end = ALIGN_UP(s->vaddr + s->memsz, PAGE_SIZE);
	u64 file_end = s->filesz ? ALIGN_UP(s->vaddr + s->filesz, PAGE_SIZE) : start;
	u32 flags = s->prot | VMA_MAYWRITE;
	int err = map_fixed(mm, start, file_end, flags, object, s->offset / PAGE_SIZE, file);

	return err ? err : map_fixed(mm, file_end, end, flags, NULL, 0, NULL);
}

static int map_program(struct mm *mm, const struct elf_info *info, struct vm_object *object,
		       struct file *file)
{
	int err = 0;
	u32 i;

	for (i = 0; i < info->nr_segments && !err; i++)
		err = map_segment(mm, &info->segments[i], object, file);
	mm->brk_start = mm->brk = info->end;
	return err ? err : map_fixed(mm, STACK_TOP - STACK_SIZE, STACK_TOP,
				     VMA_READ | VMA_WRITE | VMA_MAYWRITE, NULL, 0, NULL);
}

/* The last page of a segment's file part may hold other bytes of the file: they must read as 0. */
static int clear_tails(const struct elf_info *info)
{
	u32 i;

	for (i = 0; i < info->nr_segments; i++) {
		const struct elf_segment *s = &info->segments[i];
		u64 from = s->vaddr + s->filesz, to = ALIGN_UP(from, PAGE_SIZE);

		if (s->filesz && s->memsz > s->filesz && to > from && (s->prot & VMA_WRITE) &&
		    clear_user(from, to - from))
			return -EFAULT;
	}
	return 0;
}

/* ---- The stack ------------------------------------------------------------------------------- */

enum { AT_NULL = 0, AT_PHDR = 3, AT_PHENT = 4, AT_PHNUM = 5, AT_PAGESZ = 6, AT_ENTRY = 9,
       AT_UID = 11, AT_EUID = 12, AT_GID = 13, AT_EGID = 14, AT_SECURE = 23, AT_RANDOM = 25 };

#define NR_AUX 12

/*
 * Downwards from STACK_TOP: the strings, 16 random bytes, then (16-byte aligned) argc, argv, 0,
 * envp, 0 and the auxiliary vector, as the x86-64 ABI's 3.4.1 lays them out.
 */
static int build_stack(const struct elf_info *info, const struct exec_args *args, u64 *rsp)
{
	u64 strings = ALIGN_DOWN(STACK_TOP - args->used, 16ul), random = strings - 16;
	u64 aux[NR_AUX][2] = {
		{AT_PHDR, info->phdr_vaddr}, {AT_PHENT, info->phentsize}, {AT_PHNUM, info->phnum},
		{AT_PAGESZ, PAGE_SIZE}, {AT_ENTRY, info->entry}, {AT_UID, 0}, {AT_EUID, 0},
		{AT_GID, 0}, {AT_EGID, 0}, {AT_SECURE, 0}, {AT_RANDOM, random}, {AT_NULL, 0},
	};
	u64 seed[2] = {rdtsc() * 0x9e3779b97f4a7c15ull, rdtsc()};
	u64 *vector = kpage_alloc(0);
	u32 n = 0, i, at = 0;
	int err = 0;

	if (!vector)
		return -ENOMEM;
	vector[n++] = args->argc;
	for (i = 0; i < args->argc + args->envc; i++) {
		n += i == args->argc; /* the 0 between argv and envp; the page comes zeroed */
		vector[n++] = strings + at;
		at += (u32)strlen(args->strings + at) + 1;
	}
	n += args->envc ? 1 : 2;
	memcpy(vector + n, aux, sizeof(aux));
	n += 2 * NR_AUX;
	*rsp = ALIGN_DOWN(random - n * 8, 16ul);
	if (copy_to_user(strings, args->strings, args->used) ||
	    copy_to_user(random, seed, sizeof(seed)) || copy_to_user(*rsp, vector, n * 8))
		err = -EFAULT;
	kpage_free(vector, 0);
	return err;
}

_Static_assert((MAX_ARGS + 3 + 2 * NR_AUX) * 8 <= PAGE_SIZE, "the vectors fit a page");

/* ---- Exec ------------------------------------------------------------------------------------ */

static void enter_program(struct trap_frame *tf, u64 entry, u64 rsp)
{
	struct thread *self = current;

	memset(tf, 0, sizeof(*tf));
	tf->rip = entry;
	tf->rsp = rsp;
	tf->cs = USER_CS;
	tf->ss = USER_DS;
	tf->rflags = RFLAGS_IF | RFLAGS_RESERVED1;
	arch_reset_segments(self);
	self->clear_child_tid = 0;
	fpu_reset_current();
}

static int read_program(struct vm_object *object, const char *name, struct elf_info *info)
{
	size_t len = MIN(READ_ONCE(object->size), PAGE_SIZE);
	void *head = kpage_alloc(0);
	const char *wrong;
	int err;

	if (!head)
		return -ENOMEM;
	err = object_copy(object, 0, head, len, false);
	wrong = err ? NULL : elf_parse(head, len, object->size, USER_BASE, USER_END, info);
	kpage_free(head, 0);
	if (wrong) {
		pr_warn("exec: %s: %s\n", name, wrong);
		return -ENOEXEC;
	}
	return err;
}

int exec_object(struct vm_object *object, struct file *file, const char *name,
		const struct exec_args *args, struct trap_frame *tf)
{
	struct task *task = current->task;
	struct elf_info info;
	struct mm *mm;
	u64 rsp;
	int err;

	err = read_program(object, name, &info);
	if (err)
		return err;
	mm = mm_create(task->server);
	if (!mm)
		return -ENOMEM;
	err = map_program(mm, &info, object, file);
	if (!err)
		err = task_end_other_threads();
	if (err) {
		mm_put(mm);
		return err;
	}
	task_replace_mm(mm);
	fd_close_on_exec(task);
	task_set_name(name);
	err = clear_tails(&info);
	if (!err)
		err = build_stack(&info, args, &rsp);
	if (err) {
		pr_warn("exec: %s: could not be loaded (error %d): ended\n", task->name, -err);
		(void)task_kill(task->pid, SIGKILL);
		return err;
	}
	enter_program(tf, info.entry, rsp);
	return 0;
}

/* path, argv, envp */
s64 sys_execve(struct trap_frame *tf)
{
	struct file *file __cleanup(file_cleanup) = NULL;
	struct exec_args args __cleanup(exec_args_free) = {0};
	char path[PATH_LIMIT];
	s64 len = strncpy_from_user(path, tf->rdi, sizeof(path));
	int err;

	if (len < 0)
		return len;
	err = exec_args_alloc(&args);
	if (!err)
		err = add_user_strings(&args, tf->rsi, false);
	if (!err)
		err = add_user_strings(&args, tf->rdx, true);
	if (!err)
		file = file_open(current->task->fs, path, 0, 0, &err);
	if (err)
		return err;
	if (file->kind != FILE_OBJECT)
		return -EACCES;
	return exec_object(file->object, file, path, &args, tf);
}
