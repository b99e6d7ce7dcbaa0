"""What user mode asks of the kernel: each program checks the answers itself, and runs on Linux too."""


def all_right(vm, workload):
    assert not vm.lines("^not as on Linux"), vm.console
    assert vm.result(workload=workload)["failed"] == 0


def test_ranges_that_wrap_are_refused(run):
    all_right(run("run ranges"), "ranges")


def test_a_vmtest_reads_no_results_is_bounded_and_ends_with_its_caller(run):
    all_right(run("run vmtest-args"), "vmtest-args")


def test_only_a_receiver_makes_objects(run):
    vm = run("run rights")
    assert not vm.lines("^not as on Linux"), vm.console
    assert [r["failed"] for r in vm.results(workload="rights")] == [0, 0]
