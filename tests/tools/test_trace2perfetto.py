"""The converter of event traces: what it reads, what it draws, and files that are no traces."""
import importlib.util
import json
import subprocess
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/trace2perfetto"
TYPES = ["map va pfn", "switch to_tid name", "shootdown targets seq", "icr target seq",
         "coalesced target seq", "taken initiators count", "ack initiator seq", "done reason seq"]
NUMBER = {line.split()[0]: i for i, line in enumerate(TYPES)}
HEADER = "\n".join(["GATHER-TRACE 1 40", *TYPES, "", ""]).encode()

loader = SourceFileLoader("trace2perfetto", str(TOOL))
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("trace2perfetto", loader))
loader.exec_module(tool)


def text(name):
    return int.from_bytes(name.encode(), "little")


def record(order, cpu, event, a=0, b=0, ns=None, tid=7):
    return tool.RECORD.pack(order, order * 1000 if ns is None else ns, tid, cpu, NUMBER[event], a, b)


# cpu0 interrupts cpu1 and joins cpu3 in interrupting cpu2, which names cpu0 first.
SHOOTDOWN = [
    record(1, 0, "switch", 5, text("reader")),
    record(2, 3, "shootdown", 1 << 2, 9),
    record(3, 3, "icr", 2, 9),
    record(4, 0, "shootdown", 1 << 1 | 1 << 2, 4),
    record(5, 0, "icr", 1, 4),
    record(6, 0, "coalesced", 2, 4),
    record(7, 1, "taken", 1 << 0, 1),
    record(8, 2, "taken", 1 << 0 | 1 << 3, 2),
    record(9, 2, "ack", 0, 4),
    record(10, 1, "ack", 0, 4),
    record(11, 2, "ack", 3, 9),
    record(12, 0, "done", 0, 4),
    record(13, 3, "done", 2, 9),
    record(14, 0, "switch", 0, text("idle/0")),
]


def chrome(records):
    return tool.convert(tool.read(HEADER + b"".join(records)))[0]["traceEvents"]


def phase(events, ph):
    return [e for e in events if e["ph"] == ph]


def slices(events, name):
    return [e for e in phase(events, "X") if e["name"] == name]


def test_it_reads_what_the_kernel_writes():
    events = tool.read(HEADER + record(1, 3, "map", 0x1000, 77, ns=5) +
                       record(2, 0, "switch", 9, text("lru-read")))
    assert events.cut == 0
    assert events.events[0] == (1, 5, 7, 3, "map", {"va": 0x1000, "pfn": 77})
    assert events.events[1].args == {"to_tid": 9, "name": "lru-read"}


def test_order_decides_and_not_the_place_in_the_file():
    orders = [e.order for e in tool.read(HEADER + b"".join(reversed(SHOOTDOWN))).events]
    assert orders == list(range(1, 15))
    assert chrome(reversed(SHOOTDOWN)) == chrome(SHOOTDOWN)


def test_every_icr_write_has_its_arrows():
    events = chrome(SHOOTDOWN)
    flows = {}
    for e in events:
        if e["ph"] in "stf":
            flows.setdefault(e["id"], []).append((e["ph"], e["tid"], e["ts"]))
    assert sorted(flows) == ["cpu0 #4 to cpu1", "cpu3 #9 to cpu2"]
    assert [f[:2] for f in flows["cpu0 #4 to cpu1"]] == [("s", 0), ("t", 1), ("f", 1)]
    assert [f[:2] for f in flows["cpu3 #9 to cpu2"]] == [("s", 3), ("t", 2), ("f", 2)]
    for flow in flows.values():
        assert [f[2] for f in flow] == sorted({f[2] for f in flow})


def test_arrows_end_inside_slices():
    """Perfetto drops an arrow whose end is not inside a slice of its track."""
    events = chrome(SHOOTDOWN)
    for e in events:
        if e["ph"] in "stf":
            assert any(s["tid"] == e["tid"] and s["ts"] <= e["ts"] < s["ts"] + s["dur"]
                       for s in phase(events, "X")), e


def test_slices_of_a_track_nest():
    for cpu in range(4):
        stack = []
        for s in [s for s in phase(chrome(SHOOTDOWN), "X") if s["tid"] == cpu]:
            while stack and stack[-1] <= s["ts"]:
                stack.pop()
            end = round(s["ts"] + s["dur"], 6)
            assert not stack or end <= stack[-1], s
            stack.append(end)


def test_slices_last_from_cause_to_end():
    events = chrome(SHOOTDOWN)
    [thread] = slices(events, "reader")
    assert (thread["tid"], thread["ts"], thread["dur"], thread["args"]["tid"]) == (0, 1, 13, 5)
    [wait] = slices(events, "shootdown: reclaim")
    assert (wait["tid"], wait["ts"], wait["dur"]) == (0, 4, 8) and wait["args"]["targets"] == "1,2"
    assert len(slices(events, "shootdown: unmap")) == 1
    interrupt = [s for s in slices(events, "TLB interrupt") if s["tid"] == 2][0]
    assert interrupt["ts"] == 8 and interrupt["dur"] == pytest.approx(3, abs=0.01)
    assert interrupt["args"]["initiators"] == "0,3"
    assert not slices(events, "idle/0")


def test_a_track_for_each_cpu():
    names = {e["tid"]: e["args"]["name"] for e in chrome(SHOOTDOWN) if e["name"] == "thread_name"}
    assert names == {cpu: f"CPU {cpu}" for cpu in range(4)}


def test_clocks_that_disagree_do_not_turn_an_arrow():
    early = [record(1, 0, "shootdown", 2, 1, ns=9000), record(2, 0, "icr", 1, 1, ns=9010),
             record(3, 1, "taken", 1, 1, ns=8000), record(4, 1, "ack", 0, 1, ns=8010),
             record(5, 0, "done", 0, 1, ns=9020)]
    times = [e["ts"] for e in chrome(early) if e["ph"] in "stf"]
    assert times == sorted(set(times)) and len(times) == 3


def test_what_began_before_the_trace_or_never_ended_is_shown_as_far_as_it_goes():
    assert [e["ph"] for e in chrome(SHOOTDOWN[6:]) if e["ph"] in "stf"] == []
    events = chrome(SHOOTDOWN[:8])
    assert len(slices(events, "shootdown: not finished")) == 2
    assert [e["ph"] for e in events if e["ph"] in "stf"] == ["s", "s", "t", "t"]


def test_an_icr_write_whose_end_was_not_traced_gets_nobody_elses():
    again = [record(20, 0, "shootdown", 1 << 1, 5), record(21, 0, "coalesced", 1, 5),
             record(22, 1, "taken", 1, 1), record(23, 1, "ack", 0, 5)]
    assert [e["ph"] for e in chrome(SHOOTDOWN[3:5] + again) if e["ph"] in "stf"] == ["s"]


@pytest.mark.parametrize("data, message", [
    (b"", "empty: was the kernel started with trace=port"),
    (b"\x7fELF" + bytes(100), "this is no trace"),
    (HEADER[:30], "cut"),
    (HEADER[:-2], "cut"),
    (b"GATHER-TRACE 2 40\nmap va pfn\n\n", "version 2"),
    (b"GATHER-TRACE 1 48\nmap va pfn\n\n", "records of 48 bytes"),
    (b"GATHER-TRACE one\nmap va pfn\n\n", "damaged"),
    (b"GATHER-TRACE 1 40\nmap va\n\n", "damaged"),
    (b"GATHER-TRACE 1 40\nmap \xff pfn\n\n", "damaged"),
    (HEADER + bytes(40), "record at byte"),
    (HEADER + tool.RECORD.pack(1, 0, 0, 64, 0, 0, 0), "cpu 64"),
    (HEADER + tool.RECORD.pack(1, 0, 0, 0, len(TYPES), 0, 0), f"event {len(TYPES)} of {len(TYPES)}"),
    (HEADER + record(1, 0, "map") + b"x" + record(2, 0, "map"), "missing or damaged"),
    (HEADER + 2 * record(1, 0, "map"), "two records have order 1"),
    (HEADER + record(1, 0, "map") + record(99, 0, "map"), "97 records are missing"),
], ids=range(15))
def test_files_that_are_no_traces(data, message, tmp_path):
    with pytest.raises(tool.Malformed, match=message):
        tool.read(data)
    (tmp_path / "bin").write_bytes(data)
    run = subprocess.run([TOOL, tmp_path / "bin", tmp_path / "json"], capture_output=True, text=True)
    assert run.returncode == 1 and message in run.stderr and "Traceback" not in run.stderr
    assert not (tmp_path / "json").exists()


def test_every_cut_is_an_error_or_said():
    data = HEADER + b"".join(SHOOTDOWN[:2])
    for length in range(len(data)):
        try:
            trace = tool.read(data[:length])
        except tool.Malformed:
            assert length < len(HEADER)
        else:
            assert len(trace.events) * 40 + trace.cut == length - len(HEADER)


def test_on_the_command_line(tmp_path):
    (tmp_path / "bin").write_bytes(HEADER + b"".join(SHOOTDOWN) + b"rest")
    run = subprocess.run([TOOL, tmp_path / "bin", tmp_path / "json"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "14 events; 2 ICR writes, 2 of them taken, 2 acknowledged" in run.stdout
    assert "the last record is cut (4 of 40 bytes)" in run.stdout and "ui.perfetto.dev" in run.stdout
    assert json.loads((tmp_path / "json").read_text())["traceEvents"]
    missing = subprocess.run([TOOL, tmp_path / "none", tmp_path / "json"], capture_output=True, text=True)
    assert missing.returncode == 1 and "No such file" in missing.stderr
    assert subprocess.run([TOOL], capture_output=True).returncode == 1
