"""The programs built for Gather are ordinary static executables: the same files run on Linux."""
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def program(*arguments):
    path = ROOT / "build/user" / arguments[0]
    return subprocess.run([path, *map(str, arguments[1:])], stdin=subprocess.DEVNULL, timeout=120,
                          capture_output=True, text=True)


def check(*arguments):
    result = program(*arguments)
    assert result.returncode == 0, result.stderr
    assert "RESULT workload=" + arguments[0] in result.stdout
    assert "bad_pages=0" in result.stdout or "errors=0" in result.stdout


def test_readers(tmp_path):
    assert program("lru-read", "--make", tmp_path, 4, "-n", 2).returncode == 0
    check("lru-read", "--dir", tmp_path, "--mib", 4, "-n", 4, "--lockstep")
    check("lru-read", "--dir", tmp_path, "--mib", 4, "-n", 2, "--own", "--passes", 2)


def test_a_bad_page_is_found(tmp_path):
    program("lru-read", "--make", tmp_path, 1)
    with (tmp_path / "1").open("r+b") as file:
        file.seek(77 * 4096 + 1000)
        file.write(b"x")
    result = program("lru-read", "--dir", tmp_path, "--mib", 1, "-n", 3)
    assert result.returncode == 1 and "bad_pages=3" in result.stdout


def test_writers(tmp_path):
    check("lru-write", "--file", tmp_path / "f", "-n", 4, "--mib", 1, "--pressure-mib", 0)


def test_others():
    check("churn", "-t", 4, "--rounds", 5)
    check("hog", "--mib", 8)


@pytest.mark.parametrize("name", ["files", "cut", "descriptors", "pipes"])
def test_files_and_descriptors(name):
    """Linux does all that these programs ask for: what they find wrong elsewhere is wrong there."""
    result = program(name)
    assert result.returncode == 0, result.stderr
    assert "bad=0" in result.stdout and not re.search("bad=[1-9]", result.stdout)


def test_what_only_gather_can():
    result = program("pingpong")
    assert result.returncode == 3 and "only Gather" in result.stderr


@pytest.mark.parametrize("test, signal", [("read-kernel", 11), ("stale", 11), ("readonly", 11)])
def test_bad_pointers(test, signal):
    assert program("badptr", test).returncode == -signal


def test_the_monitor_says_where_it_belongs():
    result = program("monitor")
    assert result.returncode == 1 and "Gather kernel" in result.stdout
