"""The bug museum: builds the kernel with a known fault put back, runs it, looks for who catches it.

An exhibit is a directory NN-name with bug.patch (the smallest change that brings the fault back),
README.md (its story) and exhibit.json:

    cmdline    the kernel's command line
    expect     a regular expression: the assertion, sanitizer rule or failed check that must appear
    caught_by  the same in words, for the table
    cpus, mem, accel     where they differ from DEFAULTS
    runs       a race: the run is repeated up to this many times; {run} in cmdline is the number of
               the run, as in seed={run} (kernel/perturb.h)
    qemu       more of QEMU's options, as a list

The patch is applied to a copy of this tree in build/museum/NN. Objects are copied with their times,
so only what the patch touches is compiled again. The kernel is entered through its PVH note, which
saves the ISO.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MUSEUM = ROOT / "build/museum"
sys.path.insert(0, str(ROOT / "tests/system"))

from gather_vm import PASS, STATUS_NAMES  # noqa: E402

REQUIRED = {"cmdline", "expect", "caught_by"}
# The same in every run (docs/09-determinism.md): what is caught once is caught always.
REPEATABLE = ["-icount", "shift=1,sleep=off", "-rtc", "base=2020-01-01,clock=vm", "-seed", "1"]
DEFAULTS = {"cpus": 8, "mem": 64, "accel": "tcg,thread=single", "runs": 1, "qemu": []}

SOURCES = ["Makefile", "linker.ld", "boot", "arch", "drivers", "kernel", "mm", "iso", "tools",
           "user", "tests/kernel", "tests/tests.mk", "tests/model/model.mk", "tests/exhibits.mk"]
OBJECTS = ["obj", "gen", "gather-pass1.elf", ".setup-build"]

LIMIT = 300  # seconds a run may take: only there to end one that hangs
GRACE = 3    # seconds a machine may go on after it has shown what was expected
AHEAD = 2    # kernels built but not run yet


class Escaped(AssertionError):
    """The exhibit was not caught, or cannot be shown at all."""


class Machine(NamedTuple):
    cmdline: str
    cpus: int
    mem: int
    accel: str
    qemu: tuple

    def seed(self):
        found = re.search(r"\bseed=(\d+)", self.cmdline)
        return found[1] if found else "-"

    def command(self, kernel, cmdline_file):
        files = {"cmdline": cmdline_file, "fs": ROOT / "build/initrd/bin/fs",
                 "initrd.tar": ROOT / "build/initrd.tar"}
        command = [os.environ.get("QEMU", "qemu-system-x86_64"), "-machine", "pc", "-cpu", "max",
                   "-smp", str(self.cpus), "-m", str(self.mem), "-accel", self.accel,
                   "-kernel", kernel, "-display", "none", "-serial", "stdio", "-no-reboot",
                   "-net", "none", "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04", *self.qemu]
        for name, file in files.items():
            command += ["-fw_cfg", f"name=opt/gather/{name},file={file}"]
        return command


class Exhibit:
    def __init__(self, directory):
        self.directory, self.name = directory, directory.name
        self.number = self.name.split("-")[0]
        self.config = json.loads((directory / "exhibit.json").read_text())
        if not REQUIRED <= set(self.config) <= REQUIRED | set(DEFAULTS):
            raise Escaped(f"{self.name}/exhibit.json: a key is missing or unknown")
        self.expect = re.compile(self.config["expect"], re.M)
        self.caught_by = self.config["caught_by"]
        full = {**DEFAULTS, **self.config}
        self.runs = [Machine(full["cmdline"].replace("{run}", str(run)), full["cpus"], full["mem"],
                             full["accel"], tuple(full["qemu"] or REPEATABLE))
                     for run in range(1, full["runs"] + 1)]
        self.tree = MUSEUM / self.number
        self.console = MUSEUM / f"{self.number}.console"


def exhibits(wanted=None):
    """All of them, or those whose numbers or names are in the list."""
    found = [Exhibit(d) for d in sorted(HERE.iterdir()) if (d / "exhibit.json").exists()]
    if wanted:
        missing = [w for w in wanted if not any(w in (e.number, e.name) for e in found)]
        if missing:
            raise Escaped(f"no exhibit {', '.join(missing)}; there are "
                          f"{' '.join(e.number for e in found)}")
        found = [e for e in found if e.number in wanted or e.name in wanted]
    return found


# ---- Building ------------------------------------------------------------------------------------

def call(command, what, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    if done.returncode:
        raise Escaped(f"{what}:\n{done.stdout}")


def copy_into(tree, base, names):
    for name in names:
        source, target = base / name, tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, target)


def build(exhibit):
    """The patched kernel."""
    shutil.rmtree(exhibit.tree, ignore_errors=True)
    copy_into(exhibit.tree, ROOT, SOURCES)
    copy_into(exhibit.tree / "build", ROOT / "build", OBJECTS)
    call(["patch", "-p1", "-s", "--no-backup-if-mismatch", "-i", exhibit.directory / "bug.patch"],
         f"{exhibit.name}/bug.patch does not apply", cwd=exhibit.tree)
    env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL")}
    # A fault may cause warnings. That the objects were built with others as errors is no reason to
    # build them all again.
    call(["make", "-s", "WERROR=", "-o", "build/gen/flags", "kernel"],
         f"{exhibit.name} does not build", cwd=exhibit.tree, env=env)
    return exhibit.tree / "build/gather.elf"


class Builder:
    """Builds exhibits in order, a little ahead of whoever runs them."""

    def __init__(self, wanted):
        self._stopped = False
        self._room = threading.Semaphore(AHEAD)
        self._worker = concurrent.futures.ThreadPoolExecutor(1)
        self._kernels = {e.name: self._worker.submit(self._build, e) for e in wanted}

    def _build(self, exhibit):
        self._room.acquire()
        return None if self._stopped else build(exhibit)

    def kernel(self, exhibit):
        try:
            return self._kernels[exhibit.name].result()
        finally:
            self._room.release()

    def stop(self):
        self._stopped = True
        for _ in self._kernels:
            self._room.release()
        self._worker.shutdown()


# ---- Running -------------------------------------------------------------------------------------

def run_machine(kernel, machine, console, expect=None):
    """(text, status): to the end, or a little further than `expect`; the status may be None then."""
    option = console.with_suffix(".cmdline")
    option.write_text(machine.cmdline)
    with console.open("wb") as out:
        qemu = subprocess.Popen(machine.command(kernel, option), stdin=subprocess.DEVNULL,
                                stdout=out, stderr=subprocess.STDOUT)
    end = time.monotonic() + LIMIT
    seen = False
    try:
        while qemu.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
            if expect and not seen and expect.search(text_of(console)):
                seen, end = True, time.monotonic() + GRACE
    finally:
        status = qemu.poll()
        if status is None:
            qemu.kill()
            qemu.wait()
        option.unlink()
    return text_of(console), status


def text_of(console):
    return console.read_bytes().decode("utf-8", "replace").replace("\r", "")


def tail(text, lines=25):
    return "".join(f"    {line}\n" for line in text.splitlines()[-lines:])


def status_name(status):
    return STATUS_NAMES.get(status, "not ended" if status is None else f"QEMU's {status}")


def show(exhibit, kernel):
    """Runs the exhibit's kernel until it is caught: the machine that did. Escaped: none, or it passed."""
    for machine in exhibit.runs:
        text, status = run_machine(kernel, machine, exhibit.console, exhibit.expect)
        if exhibit.expect.search(text):
            break
    else:
        raise Escaped(f"{exhibit.name}: /{exhibit.config['expect']}/ did not appear in "
                      f"{len(exhibit.runs)} runs (last end: {status_name(status)})\n{tail(text)}")
    if status == PASS:
        raise Escaped(f"{exhibit.name}: the run passed although the fault was named\n{tail(text)}")
    return machine


def show_clean(machine, shown_with):
    """The same machine with the kernel as it is: must pass, without the lines that exhibits show."""
    MUSEUM.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", machine.cmdline)[:60]
    text, status = run_machine(ROOT / "build/gather.elf", machine, MUSEUM / f"clean-{name}.console")
    if status != PASS:
        raise Escaped(f"the correct kernel ends with {status_name(status)}: {machine}\n"
                      f"{tail(text)}")
    for exhibit in shown_with:
        if exhibit.expect.search(text):
            raise Escaped(f"the correct kernel shows what {exhibit.name} expects\n{tail(text)}")


def clean_machines(wanted):
    """{machine: exhibits that are shown on it}; of repeated runs the first"""
    machines = {}
    for exhibit in wanted:
        machines.setdefault(exhibit.runs[0], []).append(exhibit)
    return machines


# ---- The tour ------------------------------------------------------------------------------------

def print_row(name, what, seed, start):
    print(f"{name:42} {what:74} {seed:>4} {time.monotonic() - start:5.1f}", flush=True)


def report_one(exhibit, builder):
    start = time.monotonic()
    try:
        machine = show(exhibit, builder.kernel(exhibit))
    except Escaped as why:
        print(f"{exhibit.name:42} NOT CAUGHT\n{why}", flush=True)
        return False
    print_row(exhibit.name, exhibit.caught_by, machine.seed(), start)
    return True


def report_clean(machine, shown_with):
    start = time.monotonic()
    try:
        show_clean(machine, shown_with)
    except Escaped as why:
        print(why, flush=True)
        return False
    print_row("(as it is)", f"passes: {machine.cmdline}", machine.seed(), start)
    return True


def one_in_detail(exhibit):
    """For who looks at a single exhibit: the tree stays, and the lines that matter are shown."""
    text = text_of(exhibit.console)
    found = exhibit.expect.search(text)
    if found:
        at = text.count("\n", 0, found.start())
        lines = text.splitlines()[max(0, at - 8):at + 16]
        print("\n" + "".join(f"    {line}\n" for line in lines))
    print(f"story: {exhibit.directory.relative_to(ROOT)}/README.md\n"
          f"tree: {exhibit.tree.relative_to(ROOT)} (try gdb there: make gdb)\n"
          f"console: {exhibit.console.relative_to(ROOT)}")


def main(arguments):
    try:
        wanted = exhibits(arguments)
    except Escaped as why:
        print(why)
        return 1
    print(f"{'exhibit':42} {'caught by':74} seed seconds")
    builder = Builder(wanted)
    good = []
    try:
        for machine, shown_with in clean_machines(wanted).items():
            good.append(report_clean(machine, shown_with))
        for exhibit in wanted:
            good.append(report_one(exhibit, builder))
            if not arguments:
                shutil.rmtree(exhibit.tree, ignore_errors=True)
    finally:
        builder.stop()
    if len(wanted) == 1:
        one_in_detail(wanted[0])
    print(f"{sum(good)} of {len(good)} as they should be")
    return 0 if all(good) else 1
