"""Replaying one interleaving to the bit, and seeds that make others."""
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHORT = "run=run+churn+--rounds+2;stat"
MIXED = "run=run+churn+--rounds+2;run+lru-write+--mib+1"


def tool(name, *arguments, typed="", **environment):
    run = subprocess.run([f"tools/{name}", *map(str, arguments)], cwd=ROOT, timeout=600,
                         input=typed, env={**os.environ, **environment}, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace")
    return run.returncode, run.stdout


def replay(seed, cmdline):
    status, console = tool("replay", seed, cmdline)
    assert status == 0, f"tools/replay {seed} '{cmdline}' ended with {status}:\n{console[-3000:]}"
    return console


@pytest.fixture(scope="module")
def first():
    return replay(1, SHORT)


def test_three_replays_are_identical(first):
    assert "perturb: seed 1" in first and "8 of 8 CPUs online" in first
    assert replay(1, SHORT) == first
    assert replay(1, SHORT) == first


def test_other_seeds_are_other_interleavings(first):
    def events(console):  # the counters of `stat`, without the line that names the seed
        return console[console.index("TLB flushes"):]
    others = {events(replay(seed, SHORT)) for seed in (2, 3, 4)}
    assert len(others | {events(first)}) == 4


@pytest.mark.parametrize("cmdline, seeds", [("ktest", 4), (MIXED, 3)])
def test_seeds_pass(cmdline, seeds):
    status, console = tool("explore", seeds, cmdline)
    assert status == 0, console
    assert f"explore: {seeds} seeds pass" in console


def test_explore_stops_and_says_how_to_see_it_again():
    status, console = tool("explore", 3, "expect_cpus=9")
    assert status == 1
    assert "KERNEL PANIC" in console
    assert "explore: seed 1 fails; again: make replay SEED=1" in console


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_gdb_stops_where_the_fault_is_found(tmp_path):
    """Before the kernel says anything, in the function that found it, in the same run."""
    status, console = tool("replay", 3, "expect_cpus=9")
    assert status == 1
    _, session = tool("replay", 3, "expect_cpus=9", typed="info line\nkill\nquit\n", GDB="1",
                      GDB_PORT=str(free_port()), GDB_CONSOLE=str(tmp_path / "console"))
    assert "in smp_boot_aps ()" in session, session
    seen = (tmp_path / "console").read_text(errors="replace").replace("\r", "")
    assert "CPUs online" in seen and "KERNEL PANIC" not in seen
    assert console.replace("\r", "").startswith(seen)


def test_gdb_does_not_change_the_run(tmp_path):
    status, _ = tool("replay", 5, "ktest", TRACE=str(tmp_path / "plain"))
    assert status == 0
    tool("replay", 5, "ktest", typed="quit\n", GDB="1", GDB_PORT=str(free_port()),
         GDB_CONSOLE=str(tmp_path / "console"), TRACE=str(tmp_path / "under-gdb"))
    assert "passed, 0 failed" in (tmp_path / "console").read_text(errors="replace")
    assert (tmp_path / "under-gdb").read_bytes() == (tmp_path / "plain").read_bytes()


def test_lines_of_two_programs_stay_whole():
    """The C library writes a line in pieces (writev); on the console nobody comes in between."""
    console = replay(2, "run=" + 7 * "run+tlbprobe+&;" + "run+tlbprobe;wait").replace("\r", "")
    lines = [line for line in console.splitlines() if "RESULT exp=tlbprobe" in line]
    assert len(lines) == 8 * 15
    whole = re.compile(r"RESULT exp=tlbprobe name=\S+ answer=\S+ hardware=\S+")
    assert [line for line in lines if not whole.fullmatch(line)] == []
