"""The bug museum: every fault is caught, and the kernel without it passes the same run."""
import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "exhibits"))
import museum  # noqa: E402

EXHIBITS = museum.exhibits()
MACHINES = museum.clean_machines(EXHIBITS)


@pytest.fixture(scope="module")
def builder(request):
    """Builds the exhibits that this session shows while others run."""
    shown = [item.callspec.params["exhibit"] for item in request.session.items
             if item.function is test_exhibit]
    building = museum.Builder(shown)
    yield building
    building.stop()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.cmdline)
def test_the_correct_kernel_passes(machine):
    museum.show_clean(machine, MACHINES[machine])


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_exhibit(exhibit, builder):
    museum.show(exhibit, builder.kernel(exhibit))
    shutil.rmtree(exhibit.tree)


def test_an_exhibit_that_gets_away_fails(tmp_path):
    """The correct kernel in the place of a faulty one must not count as caught."""
    escaped = museum.Exhibit(EXHIBITS[0].directory)
    escaped.console = tmp_path / "console"
    with pytest.raises(museum.Escaped):
        museum.show(escaped, museum.ROOT / "build/gather.elf")


def test_a_patch_that_does_not_apply_fails(tmp_path, monkeypatch):
    directory = tmp_path / "99-stale"
    shutil.copytree(EXHIBITS[0].directory, directory)
    patch = directory / "bug.patch"
    changed = [line + "x" if line[0] in "- " and not line.startswith("---") else line
               for line in patch.read_text().splitlines()]
    patch.write_text("\n".join(changed) + "\n")
    monkeypatch.setattr(museum, "MUSEUM", tmp_path / "museum")
    with pytest.raises(museum.Escaped, match="does not apply"):
        museum.build(museum.Exhibit(directory))


def test_every_rule_of_the_sanitizer_fires_somewhere():
    rules = {int(number) for exhibit in EXHIBITS
             for found in re.findall(r"(?<!lock )rules? ([\d, and]+)", exhibit.caught_by)
             for number in re.findall(r"\d+", found)}
    assert rules == set(range(1, 12))


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_every_exhibit_has_its_story(exhibit):
    text = (exhibit.directory / "README.md").read_text()
    assert text.startswith("# ") and len(text.splitlines()) < 60
    for heading in ("What happened", "Here", "Why it is hard to see", "What catches it"):
        assert f"## {heading}\n" in text
