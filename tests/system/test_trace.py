"""The event trace: every ICR write with its interrupt and acknowledgement, the monitor, panics."""
import importlib.util
import json
import os
import re
import socket
import subprocess
from collections import Counter
from importlib.machinery import SourceFileLoader

import pytest

from gather_vm import PANIC, ROOT, count_icr_writes, icr_trace_options

TOOL = ROOT / "tools/trace2perfetto"
loader = SourceFileLoader("trace2perfetto", str(TOOL))
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("trace2perfetto", loader))
loader.exec_module(tool)

# order, seconds, cpu, thread, event, two arguments
LINE = re.compile(r"^ *(\d+) +(\d+\.\d{9}) cpu(\d+) tid (\d+) (\w+) (\w+)=(\S*) (\w+)=(\S*)$", re.M)


def port(path):
    return ["-debugcon", f"file:{path}"]


def lines(console):
    """The events of a dump or a panic: [(order, cpu, name)]."""
    return [(int(m[1]), int(m[3]), m[5]) for m in LINE.finditer(console)]


class Shootdown:
    """One request of one CPU; every field is the order of that event, by CPU where there are many."""

    def __init__(self, event):
        self.begin, self.targets = event.order, tool.cpus_of(event.args["targets"])
        self.icr, self.coalesced, self.taken, self.flush, self.ack, self.done = {}, {}, {}, {}, {}, None


def check(events):
    """Follows every request from its ICR writes to its end; returns how many of what there were."""
    requests, current, serving, sends = {}, {}, {}, {}
    for e in events:
        a = e.args
        if e.name == "shootdown":
            assert e.cpu not in current, "a request before the last one's acknowledgements"
            current[e.cpu] = (e.cpu, a["seq"])
            assert (e.cpu, a["seq"]) not in requests, "a number twice"
            requests[e.cpu, a["seq"]] = Shootdown(e)
        elif e.name in ("icr", "coalesced"):
            request = requests[e.cpu, a["seq"]]
            assert current[e.cpu] == (e.cpu, a["seq"]) and a["target"] in request.targets
            assert a["target"] not in request.icr and a["target"] not in request.coalesced
            getattr(request, e.name)[a["target"]] = e.order
            if e.name == "icr":  # a target has one interrupt on its way, and no more
                assert e.cpu not in sends.setdefault(a["target"], {})
                assert not sends[a["target"]], "a second ICR write before the first was taken"
                sends[a["target"]][e.cpu] = e.order
        elif e.name == "taken":
            initiators = tool.cpus_of(a["initiators"])
            assert not serving.get(e.cpu), "an interrupt within an interrupt"
            assert len(initiators) == a["count"] > 0
            # It serves the one CPU that wrote the ICR, and maybe others.
            assert len(set(initiators) & sends.pop(e.cpu, {}).keys()) == 1, f"{e}: who wrote the ICR?"
            serving[e.cpu] = initiators
            for initiator in initiators:
                assert initiator in current, f"{e}: cpu{initiator} waits for nothing"
                assert e.cpu not in requests[current[initiator]].taken
                requests[current[initiator]].taken[e.cpu] = e.order
        elif e.name == "flush":
            requests[a["initiator"], a["seq"]].flush[e.cpu] = e.order
        elif e.name == "ack":
            assert serving[e.cpu].pop(0) == a["initiator"], "in the order of the mask"
            assert current.get(a["initiator"]) == (a["initiator"], a["seq"]), "an ack of another request"
            requests[a["initiator"], a["seq"]].ack[e.cpu] = e.order
        elif e.name == "done":
            assert current.pop(e.cpu) == (e.cpu, a["seq"])
            requests[e.cpu, a["seq"]].done = e.order
    for request in requests.values():
        check_request(request)
    assert not any(serving.values()) and not any(sends.values()), "an interrupt without its end"
    return Counter(e.name for e in events)


def check_request(r):
    assert r.done, "every request ends"
    assert sorted([*r.icr, *r.coalesced]) == sorted(r.taken) == sorted(r.ack) == sorted(r.targets)
    for target in r.targets:
        steps = [r.begin, r.icr.get(target, r.begin + 0.5), r.taken[target]]
        if target in r.flush:
            steps.append(r.flush[target])
        steps += [r.ack[target], r.done]
        assert steps == sorted(set(steps)), f"cpu{target}: {steps}"


def check_picture(trace, counts):
    chrome, flows = tool.convert(trace)
    json.dumps(chrome)
    assert flows["s"] == flows["t"] == flows["f"] == counts["icr"]
    arrows = {}
    for e in chrome["traceEvents"]:
        if e["ph"] in "stf":
            arrows.setdefault(e["id"], []).append(e)
    for arrow in arrows.values():
        assert [e["ph"] for e in arrow] == ["s", "t", "f"]
        assert arrow[0]["tid"] != arrow[1]["tid"] == arrow[2]["tid"]


def check_limbo(events):
    """A gathered frame is freed by its thread, after a shootdown of that thread; returns how many."""
    limbo, freed = {}, 0
    for e in events:
        pfn = e.args.get("pfn")
        if e.name == "gather":
            assert pfn not in limbo
            limbo[pfn] = (e.tid, False)
        elif e.name == "done" and tool.REASONS[e.args["reason"]] == "reclaim":
            limbo.update({pfn: (tid, True) for pfn, (tid, _) in limbo.items() if tid == e.tid})
        elif e.name == "free" and pfn in limbo:
            assert limbo.pop(pfn) == (e.tid, True), f"{e} before its flush"
            freed += 1
        elif e.name == "map":
            assert pfn not in limbo, f"{e} is in limbo"
    return freed


@pytest.mark.parametrize("policy, accel", [("page", "single"), ("pfn", "single"), ("pfn", "multi")])
def test_every_icr_write_has_its_interrupt_and_its_acknowledgement(run, tmp_path, policy, accel):
    script = "run churn --rounds 2; run lru-read --lockstep --mib 28; sleep 1; poweroff"
    if accel == "multi":  # many processes in step take long with two host CPUs
        script = "run churn --rounds 10; sleep 1; poweroff"
    vm = run(script, f"trace=port tlb={policy}", mem=32, accel=accel,
             extra=[*port(tmp_path / "bin"), *icr_trace_options(tmp_path)])
    trace = tool.read((tmp_path / "bin").read_bytes())
    assert trace.cut == 0
    assert [e.order for e in trace.events] == list(range(1, len(trace.events) + 1))
    counts, totals = check(trace.events), vm.result(exp="totals")
    assert counts["icr"] == totals["icr"] == count_icr_writes(tmp_path / "apic.log") > 0
    assert counts["icr"] + counts["coalesced"] == totals["targets"]
    assert counts["taken"] == totals["taken"]
    assert counts["ack"] == totals["taken"] + totals["coalesced"]
    assert counts["flush"] == totals["flushes"]
    check_picture(trace, counts)
    if accel == "single":
        assert 100 < check_limbo(trace.events) <= counts["gather"] <= totals["freed"]


def test_without_the_port_it_says_so_and_uses_the_rings(run):
    vm = run("trace dump 5; poweroff", "trace=port")
    assert len(vm.lines("trace=port: QEMU was started without -debugcon: rings only")) == 1
    assert len(lines(vm.console)) == 5


def test_a_word_it_does_not_know(run):
    assert run("poweroff", "trace=everything").lines("trace=everyth is unknown: on, off and port are")


def test_off_when_asked_for(run, tmp_path):
    vm = run("run churn --rounds 1; trace dump; poweroff", "trace=off", extra=port(tmp_path / "bin"))
    assert vm.lines("no events: `trace on` records them") and not lines(vm.console)
    assert (tmp_path / "bin").read_bytes() == b""


def test_the_sanitizer_records(run):
    assert len(lines(run("run churn --rounds 1; trace dump; poweroff").console)) == 64


def test_the_monitor_records_and_shows(boot):
    vm = boot("trace=off interactive=1 run=ps").prompt()
    assert "no events" in vm.command("trace dump")
    vm.command("trace on")
    vm.command("run churn --rounds 1")
    shown = lines(vm.command("trace dump 100"))
    orders = [order for order, _, _ in shown]
    assert orders == list(range(orders[0], orders[0] + 100)), "the last ones, all CPUs, none missing"
    assert len(lines(vm.command("trace dump"))) == 64
    everything = lines(vm.command("trace dump 100000"))
    assert {"icr", "taken", "ack", "switch", "syscall", "map", "unmap"} <= {e for _, _, e in everything}
    assert len({cpu for _, cpu, _ in everything}) == 8
    vm.command("trace off")
    last = lines(vm.command("trace dump 1"))
    vm.command("run churn --rounds 1")
    assert lines(vm.command("trace dump 1")) == last, "nothing is recorded while it is off"
    assert "did you mean 'dump'" in vm.command("trace dmp")
    assert "there are on, off and dump" in vm.command("trace everything")
    assert "'many' is not a number of events" in vm.command("trace dump many")
    assert "'0' is not a number" in vm.command("trace dump 0")
    assert "on takes no argument" in vm.command("trace on 5")
    assert "usage: trace" in vm.command("trace")
    assert "trace" in vm.command("help trace")
    vm.power_off()


def test_rings_keep_the_last_events_of_long_runs(run):
    """A dump while eight CPUs record: whole records only, each order once, and most of the rings."""
    vm = run("run churn --rounds 40 &; sleep 1; trace dump 1000000; wait; poweroff", "trace=on",
             accel="multi")
    shown = lines(vm.console)
    orders = [order for order, _, _ in shown]
    assert orders == sorted(set(orders)) and len(orders) > 3000
    names = {line.split()[0] for line in re.search(r"TRACE_EVENTS\(X\)(.*?)\n\n", (
        ROOT / "user/abi.h").read_text(), re.S)[1].replace("X(", "").replace(",", " ").splitlines()
        if line.strip()}
    assert {name for _, _, name in shown} <= names


def inject_nmi(path):
    """What a person does who asks a machine where it is; the kernel answers by a panic."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        with s.makefile("rw") as stream:
            for command in ("qmp_capabilities", "inject-nmi"):
                stream.readline()
                stream.write(json.dumps({"execute": command}) + "\n")
                stream.flush()
            stream.readline()


@pytest.mark.parametrize("accel", ["single", "multi"])
def test_a_panic_shows_the_last_events(boot, tmp_path, accel):
    vm = boot("trace=port run=run+churn+--rounds+100000", accel=accel,
              extra=[*port(tmp_path / "bin"), "-qmp", f"unix:{tmp_path}/qmp,server=on,wait=off"])
    vm.expect(r"^fs: ")
    while (tmp_path / "bin").stat().st_size < 400000:
        vm.expect("", stall=60)
    inject_nmi(tmp_path / "qmp")
    vm.finish(PANIC)
    report = vm.console[vm.console.index("KERNEL PANIC"):]
    assert "the last 64 events:" in report
    shown = lines(report)
    orders = [order for order, _, _ in shown]
    assert orders == sorted(set(orders)) and orders[-1] - orders[0] < 64
    assert len(orders) >= 64 - 8, "a CPU may have been stopped in the middle of one"
    written = {e.order: (e.order, e.cpu, e.name) for e in tool.read((tmp_path / "bin").read_bytes()).events}
    assert [e for e in shown if e[0] in written] == [written[o] for o in orders if o in written]
    assert len([o for o in orders if o in written]) >= 64 - 16, "the file has them too"


def test_a_panic_without_a_trace_shows_none(boot):
    vm = boot("expect_cpus=9").finish(PANIC)
    assert "events:" not in vm.console


def replay(path, cmdline):
    run = subprocess.run(["tools/replay", "1", cmdline], cwd=ROOT, env=dict(os.environ, TRACE=str(path)),
                         stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    assert run.returncode == 0, run.stdout[-3000:]
    return run.stdout, path.read_bytes()


def test_interrupts_that_serve_several_cpus(tmp_path):
    """The in-kernel tests make CPUs shoot at each other at once; user programs hardly ever do."""
    trace = tool.read(replay(tmp_path / "bin", "ktest")[1])
    counts = check(trace.events)
    assert counts["coalesced"] == counts["ack"] - counts["taken"] > 0
    check_picture(trace, counts)


def test_three_traces_of_one_seed_are_identical(tmp_path):
    first, *others = [replay(tmp_path / str(n), "run=run+churn+--rounds+2;stat") for n in range(3)]
    assert b"perturb: seed 1" in first[0] and check(tool.read(first[1]).events)["icr"] > 0
    assert others == [first, first]


def test_make_trace(tmp_path):
    run = subprocess.run(["make", "-s", "trace", "CMDLINE=run=run+churn+--rounds+2;sleep+1;poweroff"],
                         cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "ui.perfetto.dev" in run.stdout
    found = re.search(r"(\d+) ICR writes, (\d+) of them taken, (\d+) acknowledged", run.stdout)
    assert found[1] == found[2] == found[3] != "0"
    assert json.loads((ROOT / "build/trace.json").read_text())["traceEvents"]
