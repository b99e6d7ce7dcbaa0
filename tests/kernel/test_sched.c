/* test_sched.c - threads, priorities, wait queues, mutexes, sleeping. */
#include "arch/cpu.h"
#include "drivers/clock.h"
#include "kernel/cpu.h"
#include "kernel/errno.h"
#include "kernel/mutex.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "tests/kernel/ktest.h"

static cpumask_t seen;

static void note_cpu(u64 cpu)
{
	cpumask_set_atomic(&seen, (unsigned)cpu);
}

KTEST(every_cpu_runs_threads)
{
	seen = 0;
	ktest_on_each_cpu(note_cpu);
	KT_EXPECT(seen == cpu_online_mask, "%lx instead of %lx", seen, cpu_online_mask);
}

/* A mutex against lost updates, with a yield inside to make them likely. */
static const struct lock_class test_class = {"test mutex", RANK_MMAP, false};
static struct mutex test_mutex;
static u64 guarded;

static void add_guarded(u64 cpu)
{
	int i;

	(void)cpu;
	for (i = 0; i < 200; i++) {
		u64 value;

		mutex_lock(&test_mutex);
		value = guarded;
		if (i % 8 == 0)
			sched_yield();
		guarded = value + 1;
		mutex_unlock(&test_mutex);
	}
}

KTEST(mutex_excludes)
{
	mutex_init(&test_mutex, &test_class);
	guarded = 0;
	ktest_on_each_cpu(add_guarded);
	KT_EXPECT(guarded == 200ul * cpus_online(), "%lu", guarded);
}

static struct wait_queue ping_queue;
static u32 ping_turn, ping_done;

static void ping(void *arg)
{
	u32 me = (u32)(u64)arg, i;

	for (i = 0; i < 500; i++) {
		wait_event(&ping_queue, READ_ONCE(ping_turn) % 2 == me);
		WRITE_ONCE(ping_turn, ping_turn + 1);
		wake_up_all(&ping_queue);
	}
	atomic_inc(&ping_done);
	thread_exit();
}

KTEST(wake_ups_are_not_lost)
{
	wait_queue_init(&ping_queue);
	ping_turn = ping_done = 0;
	kthread_run("ping", ping, (void *)0, PRIO_USER);
	kthread_run("pong", ping, (void *)1, PRIO_USER);
	KT_WAIT_FOR(READ_ONCE(ping_done) == 2);
	KT_EXPECT(ping_turn == 1000, "%u", ping_turn);
}

static u32 high_ran;

static void set_high(void *arg)
{
	(void)arg;
	WRITE_ONCE(high_ran, 1);
	thread_exit();
}

KTEST(higher_priority_preempts_at_once)
{
	cpumask_t here = CPU_BIT(smp_cpu_id());
	struct thread *t;

	sched_set_affinity(current, here);
	high_ran = 0;
	t = thread_create("high", set_high, NULL, PRIO_RECLAIM, NULL, NULL);
	KT_EXPECT(t != NULL);
	sched_set_affinity(t, CPU_BIT(smp_cpu_id()));
	thread_start(t);
	KT_EXPECT(READ_ONCE(high_ran) == 1, "the starter went on first");
	sched_set_affinity(current, CPUMASK_ALL);
}

/* Two equals and a thread above them, all on one CPU. */
static struct thread *asker, *helper;
static u32 question, rounds, max_rounds, equal_ran;

static void run_as_equal(void *arg)
{
	(void)arg;
	WRITE_ONCE(equal_ran, 1);
	thread_exit();
}

static bool go_on(void)
{
	return !READ_ONCE(equal_ran) && READ_ONCE(rounds) < max_rounds;
}

static void sleep_while_question_is(u32 value)
{
	set_current_state(THREAD_SLEEPING);
	while (READ_ONCE(question) == value) {
		schedule();
		set_current_state(THREAD_SLEEPING);
	}
	set_current_state(THREAD_RUNNING);
}

static void ask_again_and_again(void *arg)
{
	(void)arg;
	while (go_on()) {
		WRITE_ONCE(question, 1);
		wake_up_thread(helper);
		sleep_while_question_is(1);
	}
	WRITE_ONCE(question, 2);
	wake_up_thread(helper);
	thread_exit();
}

static void answer_by_handoff(void *arg)
{
	(void)arg;
	for (;;) {
		sleep_while_question_is(0);
		if (READ_ONCE(question) == 2)
			break;
		WRITE_ONCE(rounds, rounds + 1);
		WRITE_ONCE(question, 0);
		wake_up_handoff(asker);
	}
	WRITE_ONCE(question, 3);
	thread_exit();
}

static void spin_on_and_on(void *arg)
{
	(void)arg;
	while (go_on())
		cpu_relax();
	thread_exit();
}

static void interrupt_often(void *arg)
{
	(void)arg;
	while (go_on()) {
		WRITE_ONCE(rounds, rounds + 1);
		sleep_until(clock_ns() + 3 * NSEC_PER_MSEC);
	}
	WRITE_ONCE(question, 3);
	thread_exit();
}

static void expect_a_turn_for_the_equal(void (*busy)(void *), void (*above)(void *), u32 within)
{
	struct thread *equal = thread_create("equal", run_as_equal, NULL, PRIO_USER, NULL, NULL);

	sched_set_affinity(current, CPU_BIT(0)); /* they queue up while we run there, in this order */
	question = rounds = equal_ran = 0;
	max_rounds = within;
	asker = thread_create("asker", busy, NULL, PRIO_USER, NULL, NULL);
	helper = thread_create("helper", above, NULL, PRIO_RECLAIM, NULL, NULL);
	sched_set_affinity(asker, CPU_BIT(0));
	sched_set_affinity(helper, CPU_BIT(0));
	sched_set_affinity(equal, CPU_BIT(0));
	thread_start(helper);
	thread_start(asker);
	thread_start(equal);
	KT_WAIT_FOR(READ_ONCE(question) == 3 && READ_ONCE(equal_ran));
	KT_EXPECT(rounds < max_rounds, "it waited for %u rounds", rounds);
	sched_set_affinity(current, CPUMASK_ALL);
}

KTEST(a_caller_and_its_server_do_not_starve_an_equal)
{
	expect_a_turn_for_the_equal(ask_again_and_again, answer_by_handoff, 50000);
}

KTEST(a_slice_goes_on_after_a_preemption)
{
	expect_a_turn_for_the_equal(spin_on_and_on, interrupt_often, 20);
}

static u32 woken_on;

static void note_where(void *arg)
{
	(void)arg;
	sleep_while_question_is(0);
	WRITE_ONCE(woken_on, smp_cpu_id());
	thread_exit();
}

/* We run on CPU 0 above an equal of the thread that is woken, and do not give the CPU up. */
KTEST(a_hand_off_does_not_queue_behind_others)
{
	struct thread *equal = thread_create("equal", run_as_equal, NULL, PRIO_USER, NULL, NULL);
	struct thread *called = thread_create("called", note_where, NULL, PRIO_USER, NULL, NULL);
	u64 patience = clock_ns() + NSEC_PER_SEC;

	sched_set_affinity(current, CPU_BIT(0));
	sched_set_affinity(equal, CPU_BIT(0));
	question = equal_ran = 0;
	woken_on = NR_CPUS;
	thread_start(called);
	KT_WAIT_FOR(READ_ONCE(called->state) == THREAD_SLEEPING && !READ_ONCE(called->on_rq));
	thread_start(equal);
	WRITE_ONCE(question, 1);
	wake_up_handoff(called);
	while (READ_ONCE(woken_on) == NR_CPUS && cpus_online() > 1 && clock_ns() < patience)
		cpu_relax();
	KT_EXPECT(cpus_online() == 1 || woken_on != NR_CPUS, "it is queued behind another");
	KT_EXPECT(woken_on != 0 && !equal_ran, "on CPU %u, equal: %u", woken_on, equal_ran);
	KT_WAIT_FOR(READ_ONCE(woken_on) != NR_CPUS && READ_ONCE(equal_ran));
	sched_set_affinity(current, CPUMASK_ALL);
}

KTEST(sleep_takes_its_time)
{
	u64 start = clock_ns(), end = start + 20 * NSEC_PER_MSEC;

	KT_EXPECT(sleep_until(end) == 0);
	KT_EXPECT(clock_ns() >= end, "%lu ns early", end - clock_ns());
}

static u32 interrupted;

static void sleep_killably(void *arg)
{
	(void)arg;
	WRITE_ONCE(interrupted, sleep_until(clock_ns() + 3600 * NSEC_PER_SEC) == -EINTR ? 2 : 1);
	thread_exit();
}

KTEST(a_kill_wakes_a_killable_sleeper)
{
	struct thread *t = thread_create("sleeper", sleep_killably, NULL, PRIO_USER, NULL, NULL);

	interrupted = 0;
	thread_start(t);
	sleep_until(clock_ns() + 5 * NSEC_PER_MSEC);
	thread_kill(t);
	KT_WAIT_FOR(READ_ONCE(interrupted));
	KT_EXPECT(interrupted == 2);
}
