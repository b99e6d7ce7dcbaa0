"""Machines for tests: they end with the test, however it ends."""
import pytest

from gather_vm import PASS, VM


# Whole files go to whichever worker is free: the long ones first, so that all end together.
LONG = ["test_tour", "test_bochs", "test_reclaim", "test_museum", "test_replay", "test_trace",
        "test_boot", "test_files"]


def pytest_collection_modifyitems(items):
    order = {name: i for i, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONG)))


@pytest.fixture
def boot():
    """boot("cmdline", cpus=..., ...) starts a machine (see gather_vm.VM)."""
    machines = []

    def start(*arguments, **options):
        machines.append(VM(*arguments, **options))
        return machines[-1]

    yield start
    for machine in machines:
        machine.close()


@pytest.fixture
def run(boot):
    """run("command; command", ...) runs monitor commands to the end; requires status PASS."""
    def commands(script, words="", status=PASS, **options):
        line = f"run={script.replace('; ', ';').replace(' ', '+')} {words}"
        return boot(line.strip(), **options).finish(status)

    return commands
