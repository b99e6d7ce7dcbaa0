"""Moving pages under load: nothing is lost by the safe policies, and what the others lose is shown."""
import re
import subprocess
from pathlib import Path

import pytest

from gather_vm import FAIL, VM

ROOT = Path(__file__).resolve().parents[2]


def run(cmdline, status=None, **options):
    with VM(cmdline, **options) as vm:
        if status is None:
            vm.finish()
        else:
            vm.finish(status)
    return vm


def replay(cmdline, seed=1):
    done = subprocess.run(["tools/replay", str(seed), cmdline], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=600)
    return done.returncode, done.stdout


def assert_nothing_lost(vm, rounds):
    r = vm.result(workload="movers")
    assert r["rounds"] == rounds and r["moved"] > 0.9 * r["pages"] * rounds
    assert r["lost_stores"] == r["broken_rings"] == r["snapshots_changed"] == r["bad_reads"] == 0
    return r


@pytest.mark.parametrize("policy", ["page", "batch"])
@pytest.mark.parametrize("accel", ["single", "multi"])
def test_no_store_is_lost(policy, accel):
    vm = run(f"migrate={policy} run=run+movers+--rounds+10;poweroff", accel=accel)
    assert_nothing_lost(vm, 10)


@pytest.mark.parametrize("tlb", ["page", "batch32", "pfn", "full"])
def test_beside_reclaim(tlb):
    vm = run(f"tlb={tlb} run=run+movers+--rounds+10+--pressure-mib+96;stat;poweroff", accel="single")
    assert_nothing_lost(vm, 10)


def test_beside_everything_else():
    """Forks, protections, discards and unmaps of one program, files written by another, pages moved."""
    vm = run("run=run+churn+--rounds+20+&;run+lru-write+--mib+2+--pressure-mib+96+&;"
             "run+movers+--rounds+20;wait;poweroff", accel="single")
    assert_nothing_lost(vm, 20)
    assert vm.result(workload="churn")["errors"] == 0
    assert vm.result(workload="lru-write")["bad_pages"] == 0


def test_without_a_batch_page_every_unmap_flushes():
    vm = run("fail=tlb_ubc run=run+movers+--rounds+3;poweroff", accel="single")
    assert_nothing_lost(vm, 3)


# ---- What the unsafe policies do ---------------------------------------------------------------------

def test_late_loses_stores_with_a_named_seed():
    run = "tlbsan=off migrate=late unsafe=1 run=run+movers+--pages+64+--rounds+2"
    status, console = replay(run)
    assert status == 1
    assert int(re.search(r"lost_stores=(\d+)", console)[1]) > 0
    assert replay(run) == (status, console)


def test_the_sanitizer_names_late():
    _, console = replay("migrate=late unsafe=1 run=run+movers")
    assert "tlbsan: rule 2: a migration's copy starts while a CPU may write the frame" in console


def test_clean_late_reads_old_pages():
    test = "ktest=nobody_reads_the_old_frame_after_a_store_to_the_new_one"
    assert "it read the old frame" in replay(f"tlbsan=off migrate=clean-late unsafe=1 {test}")[1]
    assert "tlbsan: rule 3" in replay(f"migrate=clean-late unsafe=1 {test}")[1]
    assert replay(test)[0] == 0


def test_unsafe_policies_are_refused():
    vm = run("migrate=late run=migrate+clean-late;migrate+btach;migrate", status=FAIL)
    assert vm.lines("migrate=late loses data on purpose and needs unsafe=1; using batch")
    assert vm.lines("migrate: clean-late loses data on purpose: it needs unsafe=1")
    assert vm.lines(r"migrate: no policy 'btach'; did you mean 'batch'\?")
    assert vm.lines(r"^\* batch ")


# ---- Compaction ----------------------------------------------------------------------------------------

def fragment(options="", **vm_options):
    vm = run(f"{options} run=run+fragment;poweroff", mem=128, accel="single", **vm_options)
    r = vm.result(workload="fragment")
    assert r["could"] >= 20 and r["bad_pages"] == 0
    return r


@pytest.mark.parametrize("policy", ["page", "batch"])
def test_compaction_finds_almost_every_block(policy):
    assert fragment(f"migrate={policy}")["percent"] >= 90


def test_without_compaction_there_are_almost_none():
    assert fragment("compact=off")["percent"] < 10
