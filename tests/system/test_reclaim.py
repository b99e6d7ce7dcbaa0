"""Reclaim under each policy and without batches: contents stay right, counters stay exact."""
import pytest

from gather_vm import parse_stat

POLICIES = ["page", "batch32", "pfn", "full"]


def check_counters(vm):
    """At rest every request has been answered, whatever the reason was."""
    for name, row in parse_stat(vm.console).items():
        assert row["taken"] + row["coalesced"] == row["targets"], (name, row)
        assert row["icr"] <= row["targets"], (name, row)


def batches(vm):
    words = vm.lines(r"^  batches: ")[-1].split()
    return {"allocated": int(words[1]), "failed": int(words[3]), "flushed": int(words[8])}


def limbo(vm):
    return int(vm.lines(r"^  limbo")[-1].split()[3])


@pytest.mark.parametrize("policy", POLICIES)
def test_readers(run, policy):
    vm = run("run lru-read --mib 80 --passes 2; sleep 1; mem; stat; poweroff", f"tlb={policy}", mem=48)
    result = vm.result(workload="lru-read")
    assert result["bad_pages"] == 0 and result["pages"] == 80 * 256
    assert parse_stat(vm.console)["reclaim"]["freed"] > 10000
    assert limbo(vm) == 0
    check_counters(vm)


@pytest.mark.parametrize("policy", POLICIES)
def test_writers(run, policy):
    vm = run("run lru-write --mib 4 --passes 3 --pressure-mib 80; sleep 1; mem; stat; poweroff",
             f"tlb={policy}", mem=48)
    result = vm.result(workload="lru-write")
    assert result["bad_pages"] == 0 and result["bad_reads"] == 0 and result["passes"] == 3
    assert limbo(vm) == 0
    check_counters(vm)


def test_a_file_ends_under_its_page_outs(run):
    """The server closes the file while reclaim holds its dirty pages and waits for the server."""
    commands = "run lru-write --mib 8 --passes 6 --pressure-mib 0 &; run lru-read --mib 80; wait; "
    vm = run(commands * 2 + "mem; stat; poweroff", mem=48)
    assert [r["bad_pages"] for r in vm.results(workload="lru-write")] == [0, 0]
    assert [r["bad_pages"] for r in vm.results(workload="lru-read")] == [0, 0]
    check_counters(vm)


def test_readers_of_own_files(run):
    vm = run("run lru-read --own --mib 12 --passes 2; stat; poweroff", mem=48)
    assert vm.result(workload="lru-read")["bad_pages"] == 0
    check_counters(vm)


def test_without_batch_pages(run):
    """The allocation of every batch page fails: slower, but nothing breaks."""
    vm = run("run lru-read --mib 80; run lru-write --mib 2 --passes 2 --pressure-mib 60; mem; "
             "stat; poweroff", "fail=tlb_ubc", mem=48)
    assert vm.result(workload="lru-read")["bad_pages"] == 0
    assert vm.result(workload="lru-write")["bad_pages"] == 0
    assert batches(vm)["allocated"] == 0 and batches(vm)["failed"] > 10000
    check_counters(vm)


def test_the_policy_changes_under_load(run):
    changes = "; ".join(f"tlb {POLICIES[i % 4]}; sleep 1" for i in range(6))
    vm = run(f"run lru-read --mib 80 --passes 3 &; {changes}; wait; mem; stat; poweroff", mem=48)
    assert vm.result(workload="lru-read")["bad_pages"] == 0
    assert limbo(vm) == 0
    check_counters(vm)


def test_one_cpu_sends_nothing(run):
    vm = run("run lru-read --mib 60; stat; poweroff", cpus=1, mem=48)
    assert vm.result(workload="lru-read")["bad_pages"] == 0
    assert vm.result(exp="totals")["icr"] == 0


def test_address_spaces_under_churn(run):
    vm = run("run churn; stat; poweroff")
    result = vm.result(workload="churn")
    assert result["errors"] == 0 and result["threads"] == 8
    check_counters(vm)


def test_churn_under_pressure(run):
    vm = run("run lru-read --mib 80 &; run churn --rounds 20; wait; stat; poweroff", mem=48)
    assert vm.result(workload="churn")["errors"] == 0
    assert vm.result(workload="lru-read")["bad_pages"] == 0
    check_counters(vm)
