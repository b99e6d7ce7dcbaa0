"""A Gather machine in QEMU, its console, and the figures it prints.

    with VM("run=ps;poweroff") as vm:
        vm.expect(r"monitor")
        assert vm.wait_exit() == PASS

Waiting is by guest progress: a wait fails when the console stays silent for `stall` seconds or after
`limit` seconds in all, and both are far above what a slow host needs. Nothing else is timed.
"""
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ISO = ROOT / "build/gather.iso"
KERNEL = ROOT / "build/gather.elf"
OVMF = Path("/usr/share/ovmf/OVMF.fd")

PASS, FAIL, PANIC = 33, 35, 37  # QEMU's exit status: 2 * code + 1
STATUS_NAMES = {PASS: "pass", FAIL: "fail", PANIC: "panic"}

VEC_TLB = 0xf1
APIC_ICR_LOW = 0x300


class GuestError(AssertionError):
    """Something the machine should have done did not happen."""


def boot_options(iso, archive=None):
    """QEMU's options for an ISO; for none: the kernel's PVH entry, which saves the firmware's work."""
    if iso:
        return ["-cdrom", str(iso)]
    return ["-kernel", str(KERNEL),
            "-fw_cfg", f"name=opt/gather/fs,file={ROOT}/build/initrd/bin/fs",
            "-fw_cfg", f"name=opt/gather/initrd.tar,file={archive or ROOT / 'build/initrd.tar'}"]


def qemu_command(cmdline_option, cpus, mem, accel, iso, extra, debug_exit=True, archive=None):
    command = [os.environ.get("QEMU", "qemu-system-x86_64"), "-machine", "pc", "-cpu", "max",
               "-smp", str(cpus), "-m", str(mem), *boot_options(iso, archive), "-display", "none",
               "-no-reboot", "-serial", "stdio", "-net", "none"]
    if debug_exit:
        command += ["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"]
    if accel:
        command += ["-accel", accel if "," in accel else f"tcg,thread={accel}"]
    return command + cmdline_option + list(extra)


class VM:
    """One machine. accel: "single", "multi", or None for QEMU's default; cpus: any -smp value.

    iso: the ISO to boot from, through GRUB; None enters the kernel directly, with another boot
    archive if one is given. cmdline replaces the loader's command line; None leaves that of the ISO
    in force. The TLB sanitizer watches every run unless sanitizer=False: then the figures are those
    of `make run`.
    """

    def __init__(self, cmdline="", cpus=8, mem=64, accel=None, iso=None, extra=(), debug_exit=True,
                 stall=180, limit=1200, sanitizer=True, archive=None):
        iso = iso or (ISO if cmdline is None else None)
        self.stall, self.limit = stall, limit
        if sanitizer and cmdline is not None:
            cmdline += " tlbsan=on"
        self.cmdline = cmdline
        self._options = (cpus, mem, accel, iso, extra, debug_exit, archive)
        self._directory = Path(tempfile.mkdtemp(prefix="gather-vm-"))
        option = []
        if cmdline is not None:
            (self._directory / "cmdline").write_text(cmdline)
            option = ["-fw_cfg", f"name=opt/gather/cmdline,file={self._directory}/cmdline"]
        self._text = ""
        self._position = 0
        self._last_output = time.monotonic()
        self._changed = threading.Condition()
        self._process = subprocess.Popen(qemu_command(option, *self._options), cwd=ROOT,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def _read(self):
        while chunk := os.read(self._process.stdout.fileno(), 65536):
            with self._changed:
                self._text += chunk.decode("utf-8", "replace").replace("\r", "")
                self._last_output = time.monotonic()
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    # ---- The console -----------------------------------------------------------------------------

    @property
    def console(self):
        """All output so far, lines ending in \\n."""
        with self._changed:
            return self._text

    def expect(self, pattern, stall=None, limit=None):
        """Waits until the pattern appears after the last match; returns the match."""
        regex = re.compile(pattern, re.M)
        start = time.monotonic()
        with self._changed:
            while True:
                match = regex.search(self._text, self._position)
                if match:
                    self._position = match.end()
                    return match
                self._check_progress(f"the console to show /{pattern}/", start, stall, limit,
                                     self._reader.is_alive() and
                                     "KERNEL PANIC" not in self._text[self._position:])

    def _check_progress(self, what, start, stall, limit, alive):
        """Sleeps until there may be news, or raises. Context: self._changed held."""
        now = time.monotonic()
        silent, total = now - self._last_output, now - start
        if not alive:
            while self._reader.is_alive() and self._changed.wait(10):
                pass  # the rest of the panic
            self._fail(what, "the machine stopped or panicked before")
        if silent > (stall or self.stall):
            self._fail(what, f"the console was silent for {silent:.0f} s")
        if total > (limit or self.limit):
            self._fail(what, f"{total:.0f} s went by")
        self._changed.wait(1)

    def send(self, text):
        """Types text on the console."""
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def prompt(self):
        """Waits for the monitor's prompt; returns self."""
        self.expect(r"^gather> ")
        return self

    def command(self, line):
        """Types a monitor command at the prompt; returns its echo and output, to the next prompt."""
        begin = self._position
        self.send(line + "\r")
        self.prompt()
        return self.console[begin:self._position]

    # ---- The end ---------------------------------------------------------------------------------

    def wait_exit(self, stall=None, limit=None):
        """Waits for QEMU to end; returns its status."""
        start = time.monotonic()
        with self._changed:
            while self._process.poll() is None or self._reader.is_alive():
                self._check_progress("the machine to power off", start, stall, limit, True)
        return self._process.returncode

    def finish(self, status=PASS, **limits):
        """Waits for the end and requires that status; returns self."""
        got = self.wait_exit(**limits)
        if got != status:
            names = [f"{s} ({STATUS_NAMES.get(s, 'of QEMU itself')})" for s in (status, got)]
            self._fail(f"exit status {names[0]}", f"it was {names[1]}")
        return self

    def power_off(self):
        """Types poweroff at the prompt, and requires that all ends well; returns self."""
        self.send("poweroff\r")
        return self.finish()

    def close(self):
        """Ends this machine, if it still runs, and leaves nothing behind."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        self._reader.join(10)
        self._process.stdin.close()
        self._process.stdout.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def reproduce(self):
        """The command line that does the same by hand."""
        option = []
        if self.cmdline is not None:
            text = self.cmdline.replace(",", ",,")
            option = ["-fw_cfg", f"name=opt/gather/cmdline,string={text}"]
        return shlex.join(qemu_command(option, *self._options))

    def _fail(self, what, why):
        lines = self._text.splitlines()
        tail = "\n".join("    " + line for line in lines[-40:])
        raise GuestError(f"waited for {what}, but {why}\n"
                         f"  command line: {self.cmdline if self.cmdline is not None else '(of the ISO)'}\n"
                         f"  the last {min(40, len(lines))} of {len(lines)} console lines:\n{tail}\n"
                         f"  to see it again: {self.reproduce()}")

    # ---- What it printed ---------------------------------------------------------------------------

    def results(self, **wanted):
        """RESULT lines as dicts, those whose fields are as wanted: results(exp="reclaim")."""
        return [r for r in parse_results(self.console)
                if all(str(r.get(key)) == str(value) for key, value in wanted.items())]

    def result(self, **wanted):
        """The one RESULT line with these fields."""
        found = self.results(**wanted)
        if len(found) != 1:
            self._fail(f"one RESULT line with {wanted}", f"there were {len(found)}")
        return found[0]

    def lines(self, pattern):
        """The console lines that match."""
        return [line for line in self.console.splitlines() if re.search(pattern, line)]


def number(text):
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def parse_results(console):
    """Every `RESULT key=value key=value` line as a dict; numbers are numbers."""
    return [{key: number(value) for key, value in re.findall(r"(\w+)=(\S+)", line)}
            for line in re.findall(r"^RESULT (.*)$", console, re.M)]


def parse_ktap(console):
    """In-kernel tests: (plan or None, [(number, ok, name)]). Lines may carry the log's prefix."""
    prefix = r"^(?:\[ *\d+\.\d+\] cpu\d+: )?\s*"
    plan = re.search(prefix + r"1\.\.(\d+)", console, re.M)
    tests = [(int(n), status == "ok", name.strip()) for status, n, name in
             re.findall(prefix + r"(ok|not ok) (\d+) ?-? ?(.*)$", console, re.M)]
    return int(plan[1]) if plan else None, tests


STAT_COLUMNS = ("icr", "targets", "taken", "coalesced", "flushes", "freed", "lazy")


def parse_stat(console):
    """The monitor's last `stat`: {"total": {...}, "reclaim": {...}, ...} of the flush counters."""
    table = console[console.rindex("TLB flushes"):]
    rows = re.findall(r"^([a-z]+)((?: +\d+){7})$", table, re.M)
    return {name: dict(zip(STAT_COLUMNS, map(int, figures.split()))) for name, figures in rows}


def icr_trace_options(directory):
    """QEMU options that log every write to a local APIC's registers."""
    return ["-trace", "enable=apic_mem_writel", "-D", str(directory / "apic.log")]


def count_icr_writes(log, vector=VEC_TLB):
    """Writes of that vector to the ICR in a log made with icr_trace_options."""
    count = 0
    for line in Path(log).open(errors="replace"):
        match = re.search(r"apic_mem_writel 0x0*([0-9a-f]+) = 0x0*([0-9a-f]+)", line)
        if match and int(match[1], 16) & 0xfff == APIC_ICR_LOW and int(match[2], 16) & 0xff == vector:
            count += 1
    return count
