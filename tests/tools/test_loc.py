"""The budget: what counts as a line of code, and that the kernel stays within it."""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def loc(*arguments):
    return subprocess.run(["tools/loc", *map(str, arguments)], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)


# Where a room is over the bound that tools/loc measures against, what it has now: it may only go down.
CEILINGS = {"reading": 3137, "debug": 1233, "kernel": 13989}


def rooms(output):
    return {name: (int(lines), int(bound)) for name, lines, bound in
            re.findall(r"^(\w+) +(\d+) of (\d+)$", output, re.M)}


def test_no_room_grows_past_its_ceiling():
    result = loc()
    found = rooms(result.stdout)
    assert found.keys() == CEILINGS.keys() and found["kernel"][0] > 3000
    for name, (lines, bound) in found.items():
        assert lines <= max(CEILINGS[name], bound), result.stdout
    assert result.returncode == any(lines > bound for lines, bound in found.values())


def test_comments_and_blanks_do_not_count(tmp_path):
    (tmp_path / "mm").mkdir()
    (tmp_path / "mm/a.c").write_text("/* one */\n\nint a; /* two\n * three */ int b;\n"
                                     "\t// four\n/* five */ int c; // six\n/*\nint d;\n*/\n")
    (tmp_path / "mm/b.asm").write_text("; seven\n\tnop ; eight\n\n")
    (tmp_path / "mm/c.txt").write_text("not code\n")
    assert "mm            4" in loc(tmp_path).stdout


def test_over_a_bound_fails(tmp_path):
    (tmp_path / "mm").mkdir()
    (tmp_path / "mm/a.c").write_text("int a;\n" * 10500)
    assert loc(tmp_path).returncode == 0
    (tmp_path / "mm/a.c").write_text("int a;\n" * 10501)
    assert loc(tmp_path).returncode == 1
