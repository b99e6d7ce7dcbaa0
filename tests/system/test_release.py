"""A build without sync points and sanitizer: it works, and what needs them says so."""
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build/release"


@pytest.fixture(scope="module")
def release():
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    subprocess.run(["make", "-s", "BUILD=build/release", "RELEASE=1", "kernel"], cwd=ROOT, check=True,
                   env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for name in ("initrd", "initrd.tar"):
        if not (RELEASE / name).exists():
            (RELEASE / name).symlink_to(f"../{name}")
    return RELEASE


def run(build, cmdline, cpus=8):
    """The exit status, and the console."""
    done = subprocess.run(["tools/replay", "0", cmdline], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                          errors="replace", env={**os.environ, "BUILD": str(build), "CPUS": str(cpus)})
    return done.returncode, done.stdout


def test_it_has_neither_hooks_nor_sync_points(release):
    symbols = subprocess.run(["nm", release / "gather.elf"], capture_output=True, text=True,
                             check=True).stdout
    assert "__tlbsan_" not in symbols and "flush_tlb_mm_range" in symbols
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", release / "gather.elf"],
                          capture_output=True, text=True, check=True).stdout
    assert "<__sync_point>:" in text and not re.search(r"(call|jmp) .*<__sync_point>", text)


def test_it_works(release):
    status, console = run(release, "run=run+churn+--rounds+2;run+lru-write+--mib+1")
    assert status == 0, console[-3000:]
    assert "tlbsan: on" not in console


def test_it_refuses_the_tests_that_need_sync_points(release):
    status, console = run(release, "ktest")
    assert status == 1
    assert "build it without RELEASE=1" in console


def test_switched_off_the_hooks_cost_a_percent(release):
    """Under -icount with one CPU, time is instructions: reclaim of a file larger than memory."""
    def seconds(build, *words):
        status, console = run(build, " ".join(["run=run+lru-read+-n+1+--mib+96;stat", *words]), 1)
        assert status == 0, console[-3000:]
        return float(re.search(r"^up (\d+\.\d+) s", console, re.M)[1])
    bare = seconds(release)
    assert bare > 0.5
    assert seconds(ROOT / "build", "tlbsan=off") <= bare * 1.02
