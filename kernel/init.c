/*
 * init.c - the last step of start-up: kernel threads, the file server from the boot archive, and
 * the first user program, which the file server supplies.
 */
#include "kernel/init.h"
#include "arch/cpu.h"
#include "arch/layout.h"
#include "arch/trap.h"
#include "boot/bootinfo.h"
#include "drivers/exit.h"
#include "kernel/cmdline.h"
#include "kernel/console.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/exec.h"
#include "kernel/file.h"
#include "kernel/futex.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "kernel/log.h"
#include "kernel/sched.h"
#include "kernel/tar.h"
#include "kernel/task.h"
#include "kernel/thread.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/reclaim.h"
#include "mm/tlb.h"
#include "mm/tlb_batch.h"

#define FILE_SERVER "bin/fs"
#define FIRST_PROGRAM "/bin/monitor"

static struct vm_object *archive;   /* the boot module, as the file server maps it */
static struct endpoint *fs_service; /* what the file server receives on */

/* ---- The boot archive -------------------------------------------------------------------------------- */

/* An object that shows the module's own frames. They were never the allocator's. */
static struct vm_object *module_object(const struct boot_mod *mod)
{
	u64 size = mod->end - mod->start, pfn = mod->start >> PAGE_SHIFT, i;
	struct vm_object *object = object_create(OBJECT_BOOT, NULL, 0, size);

	if (!object || !IS_ALIGNED(mod->start, PAGE_SIZE) ||
	    mod->end > max_pfn << PAGE_SHIFT)
		return NULL;
	for (i = 0; i < DIV_ROUND_UP(size, PAGE_SIZE); i++) {
		struct page *page = pfn_to_page(pfn + i);

		page_set(page, PG_uptodate | PG_unevictable);
		(void)page_cache_add(object, i, page);
	}
	return object;
}

/* A file of the archive as an object of its own, copied: it need not start at a page. */
static struct vm_object *file_object(const u8 *data, size_t size)
{
	struct vm_object *object = object_create(OBJECT_BOOT, NULL, 0, size);
	u64 at;

	for (at = 0; object && at < size; at += PAGE_SIZE) {
		struct page *page = alloc_pages(0, GFP_KERNEL | GFP_ZERO);

		if (!page)
			return NULL;
		memcpy(phys_to_virt(page_to_phys(page)), data + at, MIN(size - at, PAGE_SIZE));
		page_set(page, PG_uptodate | PG_unevictable);
		(void)page_cache_add(object, at / PAGE_SIZE, page);
	}
	return object;
}

static const struct boot_mod *find_archive(void)
{
	u32 i;

	for (i = 0; i < boot_info.nr_mods; i++)
		if (boot_info.mod[i].end > boot_info.mod[i].start)
			return &boot_info.mod[i];
	panic("the boot loader passed no module: no user programs (see iso/grub.cfg)");
}

/* ---- First tasks --------------------------------------------------------------------------------------- */

static void give_console(struct task *task)
{
	int i;

	for (i = 0; i < 3; i++) {
		struct file *file = file_open_console();

		if (!file || fd_install(task, file) != i)
			panic("no memory for the console of %s", task->name);
	}
}

static struct task *start_task(const char *name, void (*fn)(void *), u8 prio)
{
	struct task *task = task_create(name, NULL, NULL);
	struct thread *t = task ? thread_create(name, fn, NULL, prio, task, NULL) : NULL;

	if (!t)
		panic("no memory for %s: give the machine more", name);
	give_console(task);
	task->server = prio == PRIO_SERVER;
	task->protected = true;
	task_attach_thread(task, t);
	return task;
}

static void start_thread_of(struct task *task)
{
	thread_start(list_first(&task->threads, struct thread, task_node));
}

/* Runs in the new task's thread: becomes the program and leaves the kernel. */
static void run_file_server(void *arg)
{
	const struct boot_mod *mod = find_archive();
	const char *why = "";
	struct vm_object *object;
	struct exec_args args;
	const void *data;
	size_t size;
	int err;

	(void)arg;
	data = tar_find(phys_to_virt(mod->start), mod->end - mod->start, FILE_SERVER, &size, &why);
	if (!data)
		panic("boot archive %s: %s (looking for %s)", mod->name, why, FILE_SERVER);
	object = file_object(data, size);
	err = object ? exec_args_alloc(&args) : -ENOMEM;
	if (!err)
		err = exec_args_add(&args, FILE_SERVER, false);
	if (!err)
		err = exec_object(object, NULL, FILE_SERVER, &args, thread_user_frame(current));
	if (err)
		panic("the file server %s cannot be started (error %d)", FILE_SERVER, -err);
	exec_args_free(&args);
	object_put(object);
	return_to_user(thread_user_frame(current));
}

static void run_first_program(void *arg)
{
	struct exec_args args;
	struct file *file;
	int err;

	(void)arg;
	file = file_open(current->task->fs, FIRST_PROGRAM, 0, 0, &err);
	if (file && file->kind != FILE_OBJECT)
		err = -ENOEXEC;
	if (!err)
		err = exec_args_alloc(&args);
	if (!err)
		err = exec_args_add(&args, FIRST_PROGRAM, false);
	if (!err)
		err = exec_object(file->object, file, FIRST_PROGRAM, &args,
				  thread_user_frame(current));
	if (err)
		panic("%s cannot be started (error %d)", FIRST_PROGRAM, -err);
	exec_args_free(&args);
	file_put(file);
	return_to_user(thread_user_frame(current));
}

static void start_file_server(void)
{
	struct task *task;

	archive = module_object(find_archive());
	if (!archive)
		panic("the boot archive does not start at a page of known memory");
	task = start_task("fs", run_file_server, PRIO_SERVER);
	fs_service = endpoint_create(task);
	if (!fs_service)
		panic("no memory for the file server's endpoint");
	endpoint_get(fs_service);
	if (handle_install(task, (struct cap){CAP_ENDPOINT, CAP_RECEIVE, fs_service, 0}) !=
		    BOOT_HANDLE_SERVICE ||
	    handle_install(task, (struct cap){CAP_OBJECT, 0, archive, 0}) != BOOT_HANDLE_ARCHIVE)
		panic("the file server's handles are not where it looks for them");
	start_thread_of(task);
}

static void start_first_program(void)
{
	struct task *task = start_task("monitor", run_first_program, PRIO_USER + 1);

	task->privileged = true;
	task->fs = fs_service;
	start_thread_of(task);
}

/* In-kernel tests: tests/kernel; absent from builds without them. Returns how many failed. */
unsigned ktest_run_all(void);
unsigned __weak ktest_run_all(void)
{
	pr_err("this kernel was built without in-kernel tests\n");
	return 1;
}

static void init_thread(void *arg)
{
	(void)arg;
	reclaim_init();
	if (cmdline_has("ktest"))
		exit_machine(ktest_run_all() ? EXIT_FAIL : EXIT_PASS);
	start_file_server();
	start_first_program();
	thread_exit();
}

void kernel_late_init(void)
{
	tlb_init();
	tlb_batch_init();
	futex_init();
	console_init();
	kthread_run("init", init_thread, NULL, PRIO_KTHREAD);
	sched_start_cpu();
}
