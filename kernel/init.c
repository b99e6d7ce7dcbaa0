/*
 * init.c - the last step of start-up: kernel threads, the file server from its boot module, and the
 * first user program, which the file server supplies from the boot archive.
 */
#include "kernel/init.h"
#include "arch/trap.h"
#include "boot/bootinfo.h"
#include "drivers/fw_cfg.h"
#include "drivers/exit.h"
#include "kernel/cmdline.h"
#include "kernel/console.h"
#include "kernel/exec.h"
#include "kernel/file.h"
#include "kernel/futex.h"
#include "kernel/ipc.h"
#include "kernel/lib.h"
#include "kernel/task.h"
#include "kernel/perturb.h"
#include "mm/compact.h"
#include "mm/migrate.h"
#include "kernel/trace.h"
#include "mm/mm.h"
#include "mm/object.h"
#include "mm/page_alloc.h"
#include "mm/oom.h"
#include "mm/fail.h"
#include "mm/foreign.h"
#include "mm/reclaim.h"
#include "mm/tlb.h"
#include "mm/tlb_batch.h"
#include "mm/vmalloc.h"

#define FILE_SERVER   "fs" /* boot modules, by the names that iso/grub.cfg gives them */
#define ARCHIVE       "initrd.tar"
#define FIRST_PROGRAM "/bin/monitor"

/* The boot module's own frames; they were never the allocator's. */
static struct page *module_page(const struct boot_mod *mod, u64 index)
{
	return pfn_to_page((mod->start >> PAGE_SHIFT) + index);
}

/* Without a boot loader's ISO (boot/pvh.h): the next page of the open fw_cfg file. */
static struct page *fw_cfg_page(u64 bytes)
{
	struct page *page = alloc_pages(0, GFP_KERNEL | GFP_ZERO);

	if (!page)
		panic("no memory for what QEMU's fw_cfg holds: give the machine more");
	fw_cfg_read(phys_to_virt(page_to_phys(page)), MIN(bytes, PAGE_SIZE));
	return page;
}

static const struct boot_mod *find_module(const char *name)
{
	u32 i;

	for (i = 0; i < boot_info.nr_mods; i++)
		if (!strcmp(boot_info.mod[i].name, name))
			return &boot_info.mod[i];
	return NULL;
}

/* An object that shows a boot module, or the fw_cfg file opt/gather/NAME. */
static struct vm_object *module_object(const char *name)
{
	const struct boot_mod *mod = find_module(name);
	struct vm_object *object;
	char file[64];
	s64 size, at;

	snprintf(file, sizeof(file), "opt/gather/%s", name);
	size = mod ? (s64)(mod->end - mod->start) : fw_cfg_open(file);
	if (size <= 0)
		panic("no boot module %s (iso/grub.cfg) and no fw_cfg file %s", name, file);
	if (mod && (!IS_ALIGNED(mod->start, PAGE_SIZE) || mod->end > max_pfn << PAGE_SHIFT))
		panic("boot module %s at %lx does not lie in whole pages of known memory", name,
		      mod->start);
	object = object_create(OBJECT_BOOT, NULL, 0, (u64)size);
	if (!object)
		panic("no memory for boot module %s", name);
	for (at = 0; at < size; at += PAGE_SIZE) {
		u64 index = (u64)at / PAGE_SIZE;
		struct page *page = mod ? module_page(mod, index) : fw_cfg_page((u64)(size - at));

		page_set(page, PG_uptodate | PG_unevictable);
		(void)page_cache_add(object, index, page);
	}
	return object;
}

/* Runs in a new task's thread: becomes the program and leaves the kernel. */
static void become_program(struct vm_object *object, struct file *file, const char *name)
{
	struct trap_frame *tf = thread_user_frame(current);
	struct exec_args args = {0};
	int err = exec_args_alloc(&args);

	if (!err)
		err = exec_args_add(&args, name);
	if (!err)
		err = exec_object(object, file, name, &args, tf);
	if (err)
		panic("%s cannot be started (error %d)", name, -err);
	exec_args_free(&args);
	file_put(file);
	return_to_user(tf);
}

static void run_file_server(void *program)
{
	become_program(program, NULL, FILE_SERVER);
}

static void run_first_program(void *fs)
{
	int err;
	struct file *file = file_open(fs, FIRST_PROGRAM, 0, 0, &err);

	if (!file || file->kind != FILE_OBJECT)
		panic("%s cannot be opened (error %d): is it in the boot archive?", FIRST_PROGRAM,
		      -err);
	become_program(file->object, file, FIRST_PROGRAM);
}

/* A task whose thread will run fn(arg); a server if it has that priority. */
static struct task *create_task(const char *name, void (*fn)(void *), void *arg, u8 prio)
{
	struct task *task = task_create(name, NULL, NULL);
	struct thread *t = task ? thread_create(name, fn, arg, prio, task, NULL) : NULL;
	int i;

	if (!t)
		panic("no memory for %s: give the machine more", name);
	for (i = 0; i < 3; i++) {
		struct file *console = file_open_console();

		if (!console || fd_install(task, console) != i)
			panic("no memory for the console of %s", name);
	}
	task->server = prio == PRIO_SERVER;
	task->protected = true;
	task_attach_thread(task, t);
	return task;
}

static void start_task(struct task *task)
{
	thread_start(list_first(&task->threads, struct thread, task_node));
}

/* The endpoint that the file server receives on. */
static struct endpoint *start_file_server(void)
{
	struct task *task = create_task(FILE_SERVER, run_file_server, module_object(FILE_SERVER),
					PRIO_SERVER);
	struct cap archive = {CAP_OBJECT, 0, module_object(ARCHIVE), 0};
	struct cap service = {CAP_ENDPOINT, CAP_RECEIVE, endpoint_create(task), 0};

	if (!service.ptr || handle_install(task, service) != BOOT_HANDLE_SERVICE ||
	    handle_install(task, archive) != BOOT_HANDLE_ARCHIVE)
		panic("the file server's handles are not where it looks for them");
	start_task(task);
	return endpoint_get(service.ptr);
}

static void start_first_program(struct endpoint *fs)
{
	struct task *task = create_task("monitor", run_first_program, fs, PRIO_USER + 1);

	if (handle_install(task, (struct cap){.kind = CAP_CONTROL}) != BOOT_HANDLE_CONTROL)
		panic("the monitor's handle is not where it looks for it");
	task->fs = fs;
	start_task(task);
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
	foreign_init();
	compact_init();
	vmalloc_late_init();
	oom_init();
	if (cmdline_has("ktest"))
		exit_machine(ktest_run_all() ? EXIT_FAIL : EXIT_PASS);
	start_first_program(start_file_server());
	thread_exit();
}

void kernel_late_init(void)
{
	tlb_init();
	tlb_batch_init();
	fail_init();
	migrate_init();
	perturb_init();
	trace_init();
	futex_init();
	console_init();
	kthread_run("init", init_thread, NULL, PRIO_KTHREAD);
	sched_start_cpu();
}
