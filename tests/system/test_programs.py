"""What programs can do to the kernel: nothing. Bad pointers, hogs, a server that dies."""
import re

import pytest

from gather_vm import FAIL

FATAL = ["write-kernel", "read-kernel", "null", "stale", "readonly", "exec-data"]
REFUSED = ["syscall-bad-pointers", "unknown-syscall", "native-bad-arguments"]


def test_bad_pointers(run):
    """One boot; the kernel says which process died of what, and goes on."""
    script = "; ".join(f"run badptr {test}" for test in FATAL + REFUSED)
    vm = run(f"{script}; mem", status=FAIL)
    assert len(vm.lines(r"^run: badptr: killed by signal 11$")) == len(FATAL), vm.console
    assert len(vm.lines(r"badptr \(pid \d+\): segmentation fault: .*rip")) == len(FATAL)
    assert len(vm.lines(r"^badptr: ok$")) == len(REFUSED)
    assert not vm.lines("survived")
    assert vm.lines(r"^  free ")


@pytest.mark.parametrize("mem", [48, 256])
def test_a_hog_is_killed_and_nobody_else(run, mem):
    vm = run("mem; run hog --mib 100000; mem; ps; run hog --mib 4", mem=mem, status=FAIL)
    assert len(vm.lines("out of memory: .*ending process")) == 1, vm.console
    assert vm.lines(r"^run: hog: killed by signal 9$")
    assert vm.result(workload="hog", mib=4)["bad_pages"] == 0
    assert vm.lines(r"fs \(pinned\)")
    assert vm.lines(r"1 killed$")
    before, after = (int(line.split()[1]) for line in vm.lines("^  free "))
    assert after > before - 64, "its memory came back"


def test_several_hogs(run):
    vm = run("run hog --mib 100000 &; run hog --mib 100000 &; run lru-read --mib 60; wait; mem",
             mem=48)
    assert vm.result(workload="lru-read")["bad_pages"] == 0, vm.console
    assert len(vm.lines(r"^run: hog: killed by signal 9$")) == 2
    ended = [line.split("process ")[1] for line in vm.lines("out of memory: .*ending process")]
    assert len(ended) == len(set(ended)) == 2, "each is ended once"


def test_the_file_server_dies_under_its_readers(run):
    vm = run("run lru-read --mib 500 --passes 100 &; sleep 2; kill 1; wait; mem; ls /gen; "
             "run lru-read", status=FAIL)
    assert vm.lines(r"server fs \(pid 1\) has ended")
    assert vm.lines(r"^ls: /gen: I/O error")
    assert vm.lines(r"^run: /bin/lru-read: I/O error")
    assert vm.lines(r"^  free ") and vm.result(exp="totals")
    assert re.search(r"lru-read \(pid \d+\): .*|lru-read: .*(killed|signal|error).*", vm.console), \
        "the readers end with a message"


def test_the_file_server_dies_with_dirty_pages(run):
    vm = run("run lru-write --mib 4 --passes 1000 --pressure-mib 80 &; sleep 3; kill 1; wait; mem; "
             "run hog", mem=48, status=FAIL)
    assert vm.lines(r"server fs \(pid 1\) has ended")
    assert vm.lines(r"^  free ")


def test_nothing_leaks(boot):
    """As many free pages after 30 programs as after 2, but for what is cached."""
    vm = boot("interactive=1 run=ps").prompt()

    def figures(rounds):
        for _ in range(rounds):
            vm.command("run hog --mib 1")
            vm.command("run churn --rounds 1")
        text = vm.command("mem")
        lazy = int(re.search(r"^(\d+) pages of freed kernel addresses wait", vm.command("purge"), re.M)[1])
        tables, free = [int(re.search(rf"^  {what} +(\d+) pages", text, re.M)[1])
                        for what in ("page tables", "free")]
        return tables, free + lazy  # their frames are as good as free

    tables, free = figures(1)
    tables_later, free_later = figures(14)
    assert tables_later == tables
    assert free - free_later < 64
    vm.power_off()
