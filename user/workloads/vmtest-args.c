/*
 * vmtest-args.c - SYS_vmtest asked for nonsense: results are written and never read, numbers are
 * bounded, and a run ends with its caller. Needs control of the machine.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "user/lib/check.h"
#include "user/lib/gather.h"

#define PROGRAM "vmtest-args"

static struct vmtest request(uint32_t kind, uint64_t rounds)
{
	struct vmtest t;

	memset(&t, 0xff, sizeof(t)); /* results included */
	t.kind = kind;
	t.threads = 1;
	t.lazy_max_pages = t.min_purges = 0;
	t.rounds = rounds;
	memset(t.policy, 0, sizeof(t.policy));
	return t;
}

static void check_results_are_written(void)
{
	struct vmtest t = request(VMTEST_LATENCY, 20);

	check_returns("vmtest, latency", gather_vmtest(&t), 0);
	check_that(t.samples == 20, "as many samples were taken as were asked for");
	check_that(t.max_ns < 1000000000 && t.p999_ns <= t.max_ns, "latencies are those measured");
	check_returns("vmtest, failures", (long)t.failed, 0);
	check_that(t.operations < 1000000000, "operations are counted from 0");
	t = request(VMTEST_fix_size_alloc, 100);
	check_returns("vmtest, throughput", gather_vmtest(&t), 0);
	check_returns("vmtest, operations", (long)t.operations, 100);
	check_that(t.samples == 0 && t.histogram[0] == 0, "results that do not apply are 0");
}

static void check_bounds(void)
{
	struct vmtest t = request(NR_VMTESTS, 1);

	check_fails("vmtest of no such kind", gather_vmtest(&t), EINVAL);
	t = request(VMTEST_LATENCY, VMTEST_MAX_SAMPLES + 1);
	check_fails("vmtest, too many samples", gather_vmtest(&t), EINVAL);
	t = request(VMTEST_fix_size_alloc, ~0ULL);
	check_fails("vmtest, too many rounds", gather_vmtest(&t), EINVAL);
	t = request(VMTEST_fix_size_alloc, 0);
	check_fails("vmtest, no rounds", gather_vmtest(&t), EINVAL);
	t = request(VMTEST_fix_size_alloc, 1);
	t.threads = ~0u;
	check_fails("vmtest, too many threads", gather_vmtest(&t), EINVAL);
	t = request(VMTEST_LATENCY, 1);
	t.min_purges = ~0ULL;
	check_fails("vmtest, too many purges", gather_vmtest(&t), EINVAL);
	t = request(VMTEST_LATENCY, 1);
	t.lazy_max_pages = ~0ULL;
	check_fails("vmtest, too large a backlog", gather_vmtest(&t), EINVAL);
	t = request(VMTEST_LATENCY, 1);
	memset(t.policy, 'x', sizeof(t.policy));
	check_fails("vmtest of no such policy", gather_vmtest(&t), EINVAL);
	check_fails("vmtest without a struct", gather_vmtest((struct vmtest *)8), EFAULT);
}

/* Hours of work, which end when its caller does. */
static void check_kill(uint32_t kind)
{
	struct vmtest t = request(kind, kind == VMTEST_LATENCY ? 1000 : VMTEST_MAX_ROUNDS);
	int status = 0;
	pid_t pid;

	t.threads = 2;
	t.min_purges = kind == VMTEST_LATENCY ? VMTEST_MAX_PURGES : 0;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(gather_vmtest(&t) != 0);
	usleep(30000);
	check_returns("kill", kill(pid, SIGKILL), 0);
	check_returns("waitpid", waitpid(pid, &status, 0), pid);
	check_that(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a kill ends a vmtest");
	t = request(VMTEST_fix_size_alloc, 1);
	check_returns("vmtest after a kill", gather_vmtest(&t), 0);
}

int main(void)
{
	check_results_are_written();
	check_bounds();
	gather_handle_inherit(BOOT_HANDLE_CONTROL, true); /* the children, too */
	check_kill(VMTEST_LATENCY);
	check_kill(VMTEST_random_size_alloc);
	return check_done(PROGRAM);
}
