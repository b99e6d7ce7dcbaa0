"""The same kernel in Bochs: x2APIC mode, the TSC-deadline timer, and a TLB that QEMU does not have."""
import re
import subprocess
from pathlib import Path

import pytest

from gather_vm import VM, parse_ktap, parse_results

ROOT = Path(__file__).resolve().parents[2]
PROBE_ROW = re.compile(r"^(\S.*?)\s{2,}(\w+)\s+(\w+)\s+(\w+)\s+(\w+)$", re.M)
HERE, HARDWARE, QEMU, BOCHS = range(1, 5)


def bochs(cmdline):
    run = subprocess.run(["tools/bochs", cmdline], cwd=ROOT, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors="replace", timeout=900)
    assert run.returncode == 0, run.stdout[-3000:]
    return run.stdout


def probes(console):
    rows = [match.groups() for match in PROBE_ROW.finditer(console)]
    rows = [row for row in rows if row[HERE] in ("old", "new", "fault")]
    assert len(rows) == len([r for r in parse_results(console) if r.get("exp") == "tlbprobe"])
    assert len(rows) >= 15, console
    return rows


def test_what_qemu_does_with_stale_entries():
    with VM("run=run+tlbprobe;poweroff") as vm:
        vm.finish()
    for row in probes(vm.console):
        assert row[HERE] == row[QEMU], row


@pytest.fixture(scope="module")
def in_bochs():
    return bochs("tlbsan=on run=run+tlbprobe;poweroff")


def test_what_bochs_does_with_stale_entries(in_bochs):
    assert "run: tlbprobe: exit 0" in in_bochs
    for row in probes(in_bochs):
        assert row[HERE] == row[BOCHS], row


def test_the_emulators_differ_in_global_entries(in_bochs):
    differ = [row[0] for row in probes(in_bochs) if row[QEMU] != row[BOCHS]]
    assert differ == ["a global page, with CR3 loaded again"]


def test_x2apic_and_tsc_deadline(in_bochs):
    assert "x2APIC mode" in in_bochs
    assert re.search(r"cpu: .*x2apic tsc-deadline", in_bochs)
    assert "8 of 8 CPUs online" in in_bochs


def test_the_kernels_own_tests_pass_in_bochs():
    plan, tests = parse_ktap(bochs("tlbsan=on ktest"))
    assert plan == len(tests) > 30
    assert all(ok for _, ok, _ in tests), tests


def test_what_user_mode_loads_into_the_cpu():
    """Bochs faults where QEMU does not."""
    console = bochs("run=run+cpustate;poweroff")
    result, = [r for r in parse_results(console) if r.get("workload") == "cpustate"]
    assert result["failed"] == 0, console


def test_hostile_calls_in_bochs():
    """Bochs faults where QEMU does not: on segments, control registers and reserved bits."""
    console = bochs("loglevel=0 run=run+hostile+--calls+2000;run+lru-read+--mib+1;poweroff")
    assert parse_results(console)[0]["calls"] >= 2000, console
    assert "run: hostile: exit 0" in console and "run: lru-read: exit 0" in console
