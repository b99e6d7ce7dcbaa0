"""A program that calls the kernel with what no sane program would: the kernel stays, and loses nothing.

Millions of calls take longer than a test may: make run CMDLINE="run=run+hostile+--calls+10000000".
"""
import pytest

CALLS = 15000


def pages_that_are_free_or_could_be(vm):
    """Free, or a file's in the cache, after each `mem`."""
    figures = [int(line.split(" pages")[0].split()[-1])
               for line in vm.lines(r"^  (free|file, (in)?active) ")]
    return [sum(figures[i:i + 3]) for i in range(0, len(figures), 3)]


@pytest.mark.parametrize("accel, seed", [("single", 1), ("multi", 2)])
def test_hostile_calls(run, accel, seed):
    """The first run fills what is kept for the next; the second must leave memory as it was."""
    one = f"run hostile --seed {seed} --calls {CALLS}; mem"
    vm = run(f"{one}; {one}; run lru-read --mib 20; run churn --rounds 2", "loglevel=1", accel=accel)
    assert [r["calls"] >= CALLS for r in vm.results(workload="hostile")] == [True, True]
    assert vm.result(workload="lru-read")["bad_pages"] == 0, "the file server still answers"
    before, after = pages_that_are_free_or_could_be(vm)
    assert after > before - 200, vm.console
