"""Memory nodes: made by nodes=2 or told by the firmware's SRAT; moving between them loses nothing."""
import re
import struct

import pytest

from gather_vm import FAIL, parse_ktap

CPUS = 8


def numa(*nodes):
    """QEMU options for nodes of so many MiB with such CPUs: the firmware then has a SRAT."""
    options = []
    for i, (mib, cpus) in enumerate(nodes):
        options += ["-object", f"memory-backend-ram,id=m{i},size={mib}M",
                    "-numa", f"node,nodeid={i},cpus={cpus},memdev=m{i}"]
    return options


def told(vm):
    """What the kernel says at start: {node: (free pages, CPU mask)}."""
    found = re.findall(r"mm: node (\d+): (\d+) pages free, CPUs ([0-9a-f]+)", vm.console)
    return {int(node): (int(free), int(mask, 16)) for node, free, mask in found}


def free_by_node(console):
    return [int(pages) for pages in re.findall(r"^    on node \d +(\d+) pages", console, re.M)]


def check_pingpong(vm, **wanted):
    result = vm.result(workload="pingpong", **wanted)
    assert result["wrong_node"] == result["bad_pages"] == 0, result
    return result


def test_pages_go_there_and_back(run):
    """All of them, as there is room; half of the processes have theirs there the first time."""
    vm = run("run pingpong --pages 96 --rounds 20; mem", "nodes=2")
    result = check_pingpong(vm, procs=CPUS)
    asked = CPUS * 96 * 2 * 20
    assert result["failed"] == 0 and result["moved"] == asked - CPUS // 2 * 96, result
    assert set(told(vm)) == {0, 1}


@pytest.mark.parametrize("nodes", [3, 4])
def test_more_nodes(run, nodes):
    vm = run("run pingpong --rounds 5", f"nodes={nodes}", accel="multi")
    assert check_pingpong(vm)["failed"] == 0
    assert sorted(told(vm)) == list(range(nodes))


def test_a_full_node_is_no_error(run):
    """More pages than a node has: what cannot be moved is counted, and nobody is ended for it."""
    vm = run("run pingpong -n 1 --pages 7500 --rounds 2; run pingpong --pages 1500 --rounds 2; "
             "run pingpong --rounds 5", "nodes=2")
    assert check_pingpong(vm, procs=1)["failed"] > 0
    assert check_pingpong(vm, procs=CPUS, rounds=2)["failed"] > 0
    assert check_pingpong(vm, procs=CPUS, rounds=5)["failed"] == 0, "the room came back"
    assert not vm.lines("out of memory")


def test_while_others_reclaim_and_change_their_memory(run):
    vm = run("run lru-read --mib 100 -n 2 &; run churn -t 4 --rounds 20 &; "
             "run pingpong -n 4 --rounds 30; wait", "nodes=2")
    check_pingpong(vm, procs=4)
    assert vm.result(workload="lru-read")["bad_pages"] == 0


def test_the_firmware_tells(run):
    """Nodes of different sizes; CPUs that are not in halves."""
    vm = run("mem; run pingpong --rounds 5; mem", mem=96, extra=numa((32, "0-1"), (64, "2-7")))
    nodes = told(vm)
    assert [mask for _, mask in nodes.values()] == [0b11, 0b11111100], nodes
    assert 32 * 256 * 0.7 < nodes[0][0] < 32 * 256, nodes
    assert 64 * 256 * 0.9 < nodes[1][0] <= 64 * 256, nodes
    assert check_pingpong(vm)["failed"] == 0
    free = free_by_node(vm.console)
    assert len(free) == 4, "two nodes, twice"
    totals = [int(n) for n in re.findall(r"^  free +(\d+) pages", vm.console, re.M)]
    for at, total in enumerate(totals): # between two reads a page may come or go
        assert abs(sum(free[2 * at:2 * at + 2]) - total) < 16


def test_the_command_line_comes_before_the_firmware(run):
    vm = run("mem", "nodes=1", mem=96, extra=numa((32, "0-3"), (64, "4-7")))
    assert not told(vm) and not free_by_node(vm.console)
    vm = run("mem", "nodes=3", mem=96, extra=numa((32, "0-3"), (64, "4-7")))
    assert len(free_by_node(vm.console)) == 3


@pytest.mark.parametrize("value", ["0", "5", "-1", "x", "99999999999999999999"])
def test_a_wrong_number_of_nodes(run, value):
    vm = run("mem", f"nodes={value}", cpus=1)
    assert len(vm.lines("nodes= takes a number from 1 to 4: one node")) == 1
    assert not free_by_node(vm.console)


# ---- Tables that the firmware should not have ------------------------------------------------------

def memory_entry(domain, start_mib, mib, flags=1):
    return struct.pack("<BBIHQQIIQ", 1, 40, domain, 0, start_mib << 20, mib << 20, 0, flags, 0)


def with_srat(directory, entries):
    """QEMU adds the table with a right checksum to those of a machine without nodes."""
    path = directory / "srat"
    path.write_bytes(struct.pack("<IQ", 1, 0) + entries)
    return ["-acpitable", f"sig=SRAT,rev=3,data={path}"]


def test_a_good_table_by_hand(run, tmp_path):
    entries = memory_entry(1000, 0, 24) + memory_entry(7, 24, 40)
    vm = run("run pingpong --rounds 2", extra=with_srat(tmp_path, entries))
    assert len(told(vm)) == 2 and vm.result(workload="pingpong")["wrong_node"] == 0


@pytest.mark.parametrize("entries, reason", [
    (memory_entry(0, 0, 40) + memory_entry(1, 24, 40), "gives one range of memory twice"),
    (memory_entry(0, 0, 24) + memory_entry(1, 24, 40)[:39], "is damaged"),
    (b"".join(memory_entry(i, 8 * i, 8) for i in range(5)), "names more nodes than"),
    (bytes([0, 0]) * 20, "is damaged"),
])
def test_a_bad_table_gives_one_line_and_one_node(run, tmp_path, entries, reason):
    vm = run("mem", extra=with_srat(tmp_path, entries), cpus=2)
    assert len(vm.lines(f"acpi: the SRAT {reason}.*: one node")) == 1, vm.console
    assert not told(vm) and not free_by_node(vm.console)


# ---- What programs are told ------------------------------------------------------------------------

def test_one_node_is_told_how_to_get_two(run):
    vm = run("run pingpong", status=FAIL)
    assert vm.lines(r"one memory node: boot with nodes=2 \(make run CMDLINE=")
    assert vm.lines(r"^run: pingpong: exit 3$")


@pytest.mark.parametrize("words", ["", "nodes=2", "nodes=4"])
def test_bad_node_numbers_and_pointers(run, words):
    vm = run("run badptr native-bad-arguments", words, cpus=2)
    assert vm.lines("^badptr: ok$"), vm.console


@pytest.mark.parametrize("nodes", [2, 3])
def test_in_kernel_tests(boot, nodes):
    vm = boot(f"ktest nodes={nodes}").finish()
    plan, tests = parse_ktap(vm.console)
    assert plan == len(tests) and all(ok for _, ok, _ in tests), vm.console
