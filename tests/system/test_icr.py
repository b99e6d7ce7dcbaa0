"""QEMU's own record of ICR writes against the kernel's counters: an oracle outside the guest."""
import pytest

from gather_vm import count_icr_writes, icr_trace_options


@pytest.mark.parametrize("policy", ["page", "pfn"])
def test_icr_writes_agree(run, tmp_path, policy):
    vm = run("run lru-read --lockstep --mib 80; run churn --rounds 5; poweroff", f"tlb={policy}",
             mem=48, extra=icr_trace_options(tmp_path))
    totals = vm.result(exp="totals")
    assert totals["icr"] == count_icr_writes(tmp_path / "apic.log") > 0
    assert totals["taken"] + totals["coalesced"] == totals["targets"]
