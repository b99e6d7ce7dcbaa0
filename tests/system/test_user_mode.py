"""What user mode asks of the kernel: each program checks the answers itself, and runs on Linux too."""



def all_right(vm, workload):
    assert not vm.lines("^not as on Linux"), vm.console
    assert vm.result(workload=workload)["failed"] == 0


def test_ranges_that_wrap_are_refused(run):
    all_right(run("run ranges"), "ranges")
