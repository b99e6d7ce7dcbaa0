"""The in-kernel tests (tests/kernel) report by KTAP; every one of them must be ok."""
import pytest

from gather_vm import parse_ktap


@pytest.mark.parametrize("cpus", [1, 8])
def test_in_kernel_tests(boot, cpus):
    vm = boot("ktest", cpus=cpus)
    status = vm.wait_exit()
    plan, tests = parse_ktap(vm.console)
    assert tests and plan == len(tests), vm.console
    assert [name for _, ok, name in tests if not ok] == [], vm.console
    assert [n for n, _, _ in tests] == list(range(1, plan + 1))
    assert status == 33
