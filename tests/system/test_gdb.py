"""A scripted gdb session: from entry64 to a shootdown, with the kernel's own commands."""
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from gather_vm import ROOT, qemu_command, ISO

SCRIPT = """
cpus
break send_request if targets != 0 && stat == &self->stat.tlb[TLB_RECLAIM]
continue
printf "INITIATOR %d\\n", $_thread
cpus
threads
batch kswapd
batch
pte cpus
pte $rip
pte 0x1000
pte 0x400000 this_is_no_mm
batch 4711
backtrace 3
delete
break tlb_interrupt
continue
printf "TARGET %d\\n", $_thread
cpus
kill
quit
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    directory = tmp_path_factory.mktemp("gdb")
    (directory / "script").write_text(SCRIPT)
    option = ["-fw_cfg", "name=opt/gather/cmdline,string="
              "tlb=batch32 run=run+lru-read+--lockstep+--mib+100;poweroff"]
    env = dict(os.environ, GDB_ARGS="", GDB_CONSOLE=str(directory / "console"))
    with (directory / "script").open() as script:
        run = subprocess.run(["tools/gdb/start", str(free_port()),
                              *qemu_command(option, 8, 64, None, ISO, [])], cwd=ROOT, env=env,
                             stdin=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace", timeout=300)
    return run.stdout


def test_stops_at_the_first_64_bit_instruction(session):
    assert re.search(r"hit Breakpoint 1, entry64 \(\) at boot/boot.asm", session), session
    assert "packet reply is too long" not in session


def test_a_target_is_another_cpu_than_the_initiator(session):
    assert "send_request" in session and "tlb_interrupt (" in session, session
    initiator, target = (int(re.search(rf"{who} (\d+)", session)[1])
                         for who in ("INITIATOR", "TARGET"))
    assert initiator != target


def test_cpus_shows_all_of_them(session):
    last = session[session.index("TARGET"):]
    rows = re.findall(r"^(?:\(gdb\) )? *(\d+) +(\d+) online +(\S+) \(\d+\)", last, re.M)
    assert [int(r[0]) for r in rows] == list(range(8)), last
    assert {r[2].split("/")[0] for r in rows} & {"lru-read", "kswapd"}, last
    assert re.search(r" (?:\d,)*\d +(?:none|(?:\d,)*\d) *$", last, re.M), "nobody owes an ack"


def test_threads_shows_servers_workers_and_kswapd(session):
    for name in ("idle/0", "kswapd", "fs", "monitor", "lru-read"):
        assert re.search(rf"^ *\d+ \w+ +\d+ +\d+ .* {name}$", session, re.M), name
    assert "no thread 4711; `threads` lists them" in session
    assert 'No symbol "this_is_no_mm"' in session


def test_batch_shows_the_policy_and_the_frames(session):
    assert "policy batch32: flush at 32 frames" in session
    assert re.search(r"kswapd has no batch page|batch of kswapd: \d+ frames", session)


def test_pte_walks_the_tables(session):
    walk = re.search(r"PML4 +511: .*\nPDPT +510: .*\n(PD .*\nPT .*\n|PD .*\n)ffffffff8.* -> "
                     r"physical [0-9a-f]+, frame", session)
    assert walk, session
    assert "1000 is not mapped" in session


def test_nothing_went_wrong_in_python(session):
    assert "Python Exception" not in session and "Error occurred" not in session, session
