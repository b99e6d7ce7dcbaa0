"""Version strings as tools print them, and how versions compare."""
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shell(script, *arguments):
    return subprocess.run(["sh", "-c", f". tools/version.sh; {script}", "sh", *arguments], cwd=ROOT,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


@pytest.mark.parametrize("line, version", [
    ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)", "7.2.22"),
    ("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)", "10.0.2"),
    ("QEMU emulator version 9.0.50 (v9.0.0-1388-g8a2b760)\nCopyright (c) 2003-2024", "9.0.50"),
    ("GNU gdb (Debian 13.1-3) 13.1", "13.1"),
    ("GNU gdb (Ubuntu 15.0.50.20240403-0ubuntu1) 15.0.50.20240403-git", "15.0.50.20240403"),
    ("GNU gdb (GDB) Fedora Linux 16.3-1.fc42", "16.3"),
    ("NASM version 2.16.01", "2.16.01"),
    ("NASM version 2.17rc0-20240101 compiled on Jan  1 2024", "2.17"),
    ("xorriso 1.5.4 : RockRidge filesystem manipulator, libburnia project.", "1.5.4"),
    ("grub-mkrescue (GRUB) 2.06-13+deb12u1", "2.06"),
    ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
    ("gcc (Ubuntu 13.2.0-23ubuntu4) 13.2.0", "13.2.0"),
    ("gcc (GCC) 15.0.1 20250418 (Red Hat 15.0.1-0)", "15.0.1"),
    ("x86_64-elf-gcc (GCC) 13.2.0", "13.2.0"),
    ("Debian clang version 14.0.6", "14.0.6"),
    ("Ubuntu clang version 19.0.0 (++20240722031324+65825cd5431c-1~exp1~20240722)", "19.0.0"),
    ("Apple clang version 15.0.0 (clang-1500.3.9.4)", "15.0.0"),
    ("GNU ld (GNU Binutils for Debian) 2.40", "2.40"),
    ("mformat (GNU mtools) 4.0.32", "4.0.32"),
    ("GNU Make 4.3", "4.3"),
    ("Python 3.11.2", "3.11.2"),
    ("tool v2.1", "2.1"),
    ("no version here", ""),
    ("", ""),
])
def test_finds_the_version(line, version):
    assert shell('version_of "$1"', line).stdout.strip() == version


@pytest.mark.parametrize("found, needed, enough", [
    ("7.2.22", "6.0", True), ("10.0.2", "6.0", True), ("10.0.2", "9.9.9", True),
    ("6.0", "6.0", True), ("6.0", "6.0.0", True), ("6", "6.0.1", False), ("5.9.9", "6.0", False),
    ("2.06", "2.04", True), ("2.06", "2.6", True), ("2.08", "2.09", False), ("2.16.01", "2.14", True),
    ("4", "4", True), ("4.0.32", "4", True), ("3.9", "3.10", False), ("3.11", "3.9", True),
    ("15.0.50.20240403", "9", True),
])
def test_compares(found, needed, enough):
    result = shell('version_at_least "$1" "$2"', found, needed)
    assert (result.returncode == 0) == enough
    assert result.stderr == ""
