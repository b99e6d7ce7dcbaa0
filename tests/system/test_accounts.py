"""What the kernel keeps for a process: counted, bounded, and back when the process ends."""
import pytest

from gather_vm import FAIL, PASS

# kind, options, the status of a machine on which it runs: 0 areas, tables, ... up to a bound
BOUNDED = [("areas", "--max 4000"), ("threads", ""), ("tasks", ""), ("files", ""), ("pipes", ""),
           ("endpoints", "")]
ENDED = ["tables", "shared"]
AGAIN = "run hog --mib 24; mem"  # most of the memory there is


@pytest.mark.parametrize("what, options", BOUNDED)
def test_what_is_bounded_comes_back(run, what, options):
    vm = run(f"run hoard --what {what} {options}; {AGAIN}; poweroff", mem=40)
    assert vm.result(workload="hoard", what=what)["got"] > 200
    assert vm.result(workload="hog")["bad_pages"] == 0
    assert not vm.lines("out of memory")


@pytest.mark.parametrize("what", ENDED)
def test_who_makes_the_kernel_keep_pages_is_ended_and_nobody_else(run, what):
    """The other program has more pages mapped than the hoarder at any time."""
    vm = run(f"run hog --mib 4 --hold-ms 15000 &; sleep 1; run hoard --what {what}; wait; {AGAIN}; poweroff 1",
             status=FAIL, mem=40)
    assert vm.lines(r"^run: hoard: killed by signal 9$")
    assert vm.result(workload="hog", mib=4)["bad_pages"] == 0
    assert len(vm.lines("out of memory: .*ending process")) == 1


@pytest.mark.parametrize("every", [7, 50])
def test_programs_in_which_every_kth_call_finds_no_memory(run, every):
    """The monitor runs on; memory is as before, but for caches."""
    tries = "; ".join(["run hostile --calls 4000"] * 3 + ["run churn --rounds 2"] * 2)
    vm = run(f"{tries}; mem; poweroff 0", f"fail=every:{every}", status=PASS)
    free, managed = (int(vm.lines(rf"^  {what} ")[0].split()[1]) for what in ("free", "managed"))
    assert free > managed * 0.8
