"""Boot images that are damaged or incomplete: a clear message each time, never a hang."""
import io
import shutil
import subprocess
import tarfile

import pytest

from gather_vm import FAIL, PANIC, ROOT

GRUB = """\
serial --unit=0 --speed=115200
terminal_input serial
terminal_output serial
set timeout=0
menuentry "Gather" {
	multiboot2 /boot/gather.elf
%s}
"""


def read(name):
    return (ROOT / "build" / name).read_bytes()


def archive(change):
    """The boot archive with change(files) made to its {name: contents}."""
    with tarfile.open(ROOT / "build/initrd.tar") as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
    change(files)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, contents in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(contents), 0o755
            tar.addfile(info, io.BytesIO(contents))
    return out.getvalue()


@pytest.fixture
def image(tmp_path):
    """image(fs=bytes, archive=bytes): an ISO with these modules; None leaves one out."""
    def make(fs=..., archive=...):
        boot = tmp_path / "root/boot"
        (boot / "grub").mkdir(parents=True)
        shutil.copy(ROOT / "build/iso-root/boot/gather.elf", boot / "gather.elf")
        modules = {"fs": read("initrd/bin/fs") if fs is ... else fs,
                   "initrd.tar": read("initrd.tar") if archive is ... else archive}
        lines = ""
        for name, contents in modules.items():
            if contents is not None:
                (boot / name).write_bytes(contents)
                lines += f"\tmodule2 /boot/{name} {name}\n"
        (boot / "grub/grub.cfg").write_text(GRUB % lines)
        iso = tmp_path / "image.iso"
        subprocess.run(["grub-mkrescue", "-d", "/usr/lib/grub/i386-pc", "-o", iso, tmp_path / "root"],
                       check=True, capture_output=True, stdin=subprocess.DEVNULL)
        return iso

    return make


def test_the_unchanged_image_works(image, run):
    run("ls /bin; poweroff", iso=image())


def broken_programs(files):
    program = files["bin/hog"]
    files["bin/empty"] = b""
    files["bin/text"] = b"#!/bin/sh\necho no\n"
    files["bin/short"] = program[:100]
    files["bin/cut"] = program[:len(program) // 2]
    files["bin/zeroes"] = bytes(8192)
    files["bin/class32"] = program[:4] + b"\1" + program[5:]
    files["bin/arm"] = program[:18] + b"\xb7" + program[19:]
    files["bin/phnum"] = program[:56] + b"\xff\xff" + program[58:]
    files["bin/entry"] = program[:24] + (0xffffffff80200000).to_bytes(8, "little") + program[32:]
    files["bin/phoff"] = program[:32] + b"\xff" * 8 + program[40:]


def test_broken_programs_are_refused(image, run):
    names = ["empty", "text", "short", "cut", "zeroes", "class32", "arm", "phnum", "entry", "phoff"]
    vm = run("; ".join(f"run {name}" for name in names) + "; mem; run hog --mib 1; poweroff",
             iso=image(archive=archive(broken_programs)))
    refusals = vm.lines(r"^run: /bin/\w+: Exec format error")
    assert len(refusals) == len(names), vm.console
    assert vm.result(workload="hog")["bad_pages"] == 0


@pytest.mark.parametrize("fs", [None, b"", b"not a program at all" * 1000, "cut"],
                         ids=["absent", "empty", "garbage", "cut"])
def test_a_file_server_that_is_none(image, boot, fs):
    program = read("initrd/bin/fs")
    iso = image(fs=program[:len(program) // 2] if fs == "cut" else fs)
    vm = boot("run=ps;poweroff", iso=iso).finish(PANIC)
    assert vm.lines(r"KERNEL PANIC: .*(fs|file server|module)"), vm.console


@pytest.mark.parametrize("damage", ["absent", "empty", "garbage", "cut", "no-monitor", "bad-monitor"])
def test_an_archive_that_is_none(image, boot, damage):
    whole = read("initrd.tar")
    contents = {
        "absent": lambda: None,
        "empty": lambda: b"",
        "garbage": lambda: bytes(range(256)) * 64,
        "cut": lambda: whole[:len(whole) // 3],
        "no-monitor": lambda: archive(lambda files: files.pop("bin/monitor")),
        "bad-monitor": lambda: archive(lambda files: files.update({"bin/monitor": b"\x7fELF"})),
    }[damage]()
    vm = boot("run=ps;poweroff", iso=image(archive=contents))
    status = vm.wait_exit(stall=30)
    assert status in (PANIC, FAIL), vm.console
    assert vm.lines(r"(archive|monitor|initrd)"), vm.console
