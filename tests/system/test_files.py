"""Files, descriptors and pipes: nothing lost, torn or brought back; limits that hurt one client."""
import subprocess

import pytest

from gather_vm import PASS, ROOT

TESTS = {
    "files": ["extend", "append", "append-read", "shared"],
    "cut": ["zero", "reclaim", "bus"],
    "descriptors": ["transfer", "stat", "dup", "cloexec", "descriptor-limit", "many-files",
                    "killed-in-open"],
    "pipes": ["stream", "full", "atomic", "death"],
}


@pytest.mark.parametrize("accel", ["single", "multi"])
def test_contents_and_calls(run, accel):
    """The programs check themselves; on Linux they find nothing either (tests/tools)."""
    vm = run("; ".join(f"run {program}" for program in TESTS), accel=accel)
    for program, tests in TESTS.items():
        for test in tests:
            assert vm.result(workload=program, test=test)["bad"] == 0, vm.console


def test_files_are_cut_and_grow_under_reclaim(run):
    """Page-outs on their way when their file is cut do not bring bytes back."""
    vm = run("run lru-read --mib 120 --passes 2 &; run files; run cut; wait", mem=32)
    results = vm.results(workload="files") + vm.results(workload="cut")
    assert len(results) == 7 and not any(result["bad"] for result in results), vm.console


def test_many_at_once(run):
    """Eight programs take what they may have at the same time; each sees its own bound only."""
    script = "; ".join(["run descriptors descriptor-limit &"] * 4)
    vm = run(f"{script}; run descriptors cloexec; wait; run lru-read --mib 4", mem=128)
    results = vm.results(workload="descriptors")
    assert len(results) == 5 and not any(result["bad"] for result in results), vm.console


TAR = ["gnu", "oldgnu", "pax", "ustar", "v7"]


@pytest.mark.parametrize("tar", TAR)
def test_the_boot_archive_may_come_from_any_tar(boot, tmp_path, tar):
    """bin/monitor and what it runs are read from it; one is a hard link, one has a long name."""
    tree = tmp_path / "tree"
    (tree / "bin").mkdir(parents=True)
    for name in ("monitor", "spin", "hog"):
        (tree / "bin" / name).write_bytes((ROOT / "build/initrd/bin" / name).read_bytes())
    (tree / "bin/same").hardlink_to(tree / "bin/hog")
    (tree / "etc").mkdir()
    (tree / "etc/motd").write_text("from tar\n")
    deep = tree / "deep" / ("n" * 40) / ("m" * 40)
    long_name = tar in ("gnu", "oldgnu", "pax")
    if long_name:
        deep.mkdir(parents=True)
        (deep / "file").write_text("x")
    archive = tmp_path / "a.tar"
    subprocess.run(["tar", f"--format={tar}", "-C", tree, "-cf", archive,
                    *sorted(p.name for p in tree.iterdir())], check=True)
    vm = boot("run=ls+/;ls+/bin;run+same+--mib+1;cat+/etc/motd", archive=archive).finish(PASS)
    assert vm.result(workload="hog", mib=1)["bad_pages"] == 0, vm.console
    assert vm.lines("^from tar$")
    assert not vm.lines("left out")
    assert bool(vm.lines("^deep$")) == long_name
