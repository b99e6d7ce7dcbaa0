"""What user mode asks of the kernel: each program checks the answers itself, and runs on Linux too."""
import os
import subprocess
from pathlib import Path

from gather_vm import parse_results

ROOT = Path(__file__).resolve().parents[2]
IRQS_OFF_MAX = 4000  # instructions: the bound that docs/03-threads.md promises


def all_right(vm, workload):
    assert not vm.lines("^not as on Linux"), vm.console
    assert vm.result(workload=workload)["failed"] == 0


def test_ranges_that_wrap_are_refused(run):
    all_right(run("run ranges"), "ranges")


def test_a_vmtest_reads_no_results_is_bounded_and_ends_with_its_caller(run):
    all_right(run("run vmtest-args"), "vmtest-args")


def test_what_a_program_without_the_handle_may_not_do(run):
    """Objects need the receiving end; policies, power and others' lives need control."""
    vm = run("run rights; tlb")
    assert not vm.lines("^not as on Linux"), vm.console
    assert [r["failed"] for r in vm.results(workload="rights")] == [0, 0, 0]
    assert vm.lines(r"^\* pfn "), "the policy is the default one"


def test_processes_threads_and_signals(run):
    all_right(run("run procs"), "procs")


def test_processes_threads_and_signals_with_cpus_in_parallel(run):
    all_right(run("run procs", accel="multi"), "procs")


def test_clocks_timeouts_and_cpu_time(run):
    all_right(run("run clocks"), "clocks")


def test_spinning_processes_are_spread_evenly(run):
    """Four for each CPU: all CPUs have four, or a move was under way."""
    vm = run("run spread")
    spread = vm.result(workload="spread")
    assert spread["processes"] == 4 * spread["cpus"] == 32
    assert 3 <= spread["least_on_a_cpu"] and spread["most_on_a_cpu"] <= 5


def test_ps_shows_every_task(run):
    vm = run("run spread --idle -n 400 --ms 4000 &; sleep 4; ps; wait", mem=256)
    rows = [line.split() for line in vm.lines(r"^ *\d+ +\d+ +\d+ +\d+ [RSZ] ")]
    assert len([row for row in rows if row[-1] == "spread"]) == 401
    assert len({row[0] for row in rows}) == len(rows), "each once"


def test_a_killed_process_is_gone_soon(run):
    """It waits for a server whose memory never comes, or writes, walks, moves and forks for ever."""
    vm = run("run killable", mem=256)
    assert len(vm.results(exp="killable")) == 9
    all_right(vm, "killable")


def test_what_user_mode_loads_into_the_cpu(run):
    all_right(run("run cpustate"), "cpustate")


def test_interrupts_are_never_off_for_long():
    """In instructions: an alarm each millisecond, beside what used to keep interrupts off longest."""
    script = "tlbsan=off run=run+cyclic+2000+&;run+killable;run+lru-read+--mib+300;stat"
    environment = dict(os.environ, CPUS="1", SHIFT="0", MEM="256", LIMIT="600")
    run = subprocess.run(["tools/replay", "0", script], cwd=ROOT, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                         text=True, errors="replace", timeout=700)
    latest, = [r for r in parse_results(run.stdout) if r.get("exp") == "alarms"]
    assert 0 < latest["latest_ns"] <= IRQS_OFF_MAX, run.stdout[-3000:]
