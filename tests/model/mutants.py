"""Puts known faults into the sources and shows that the model checker finds each, in TAP.

    mutants.py [NAME...]      all, or these; a named one's counterexample is shown whole

A mutant is a patch: the bug museum's (tests/exhibits/*/bug.patch) or one in tests/model/mutants. It is
applied to copies in build/model/mutants, and only what it touches is compiled again. `make test-model`
sets CC, CFLAGS and HOOKED: the sources that are compiled with the hooks; the checker itself is not.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/model"
LIMIT = 600  # seconds for one counterexample: only there to end a loop

STALE = r"in user mode translates"
KERNEL = r"translates a kernel address"
# Patch: the scenario that finds it, and how; THREADS: tests/model/threads.c does, not the model checker.
THREADS = "threads"
MUTANTS = {
    "01-invlpg-of-a-frame-number": ("reclaim_lazy", STALE),
    "02-only-this-cpu": ("generations", STALE),
    "05-only-the-first-request": ("two_initiators", STALE),
    "12-pending-mark-lost": ("two_munmaps", STALE),
    "13-waits-only-for-its-own": ("munmap_waits", STALE),
    "14-mask-after-cr3": ("switch_in", STALE),
    "15-tables-freed-under-a-lazy-cpu": ("drop", r"freed tables|still use"),
    "16-skipped-while-loading": ("switch_in", STALE),
    "30-generation-gap": ("two_initiators", STALE),
    "39-batch-freed-before-its-flush": ("reclaim_lazy", STALE),
    "40-mask-before-the-exchange": ("reclaim_switch_in", STALE),
    "41-no-generation": ("reclaim_lazy", STALE),
    "42-lazy-cpu-does-not-catch-up": ("lazy_return", STALE),
    "44-kernel-range-by-cr3": ("kernel_range", KERNEL),
    "47-generation-after-the-flush": ("two_and_lazy", STALE),
    "48-acknowledged-before-flushed": ("generations", STALE),
    "56-requests-cleared-after-serving": ("two_initiators", r"deadlock|nobody asked"),
    "flag-for-count": ("two_munmaps", STALE),
    "generation-after-cr3": ("change_over", STALE),
    "interrupt-before-pending": ("lazy_return", r"nobody asked"),
    "kernel-entered-by-load-and-store": ("kernel_quiet", KERNEL),
    "kernel-left-relaxed": (THREADS, r"data race .* in free_frame|data race .* in read_kernel_page"),
    "kernel-skipped-by-load-and-store": ("kernel_quiet", KERNEL),
    "kernel-owed-not-flushed": ("kernel_quiet", KERNEL),
    "lazy-without-fence": ("lazy_return", STALE),
    "lazy-read-relaxed": (THREADS, r"data race .* in free_frame|data race .* in read_pages"),
    "llist-link-after-push": ("push_push_take", r"was pushed"),
    "llist-push-by-store": ("push_in_interrupt", r"was pushed|were told|no contents"),
    "llist-take-by-load-and-store": ("push_push_take", r"was pushed|were told"),
    "llist-take-one": ("takers", r"was pushed|no end|no contents"),
    "old-mask-bit-kept-too-short": ("drop", r"freed tables"),
    "owner-read-plainly": (THREADS, r"data race kernel/lock.c|data race .*/kernel/lock.c"),
    "request-after-pending": ("lazy_return", r"request changes|" + STALE),
}


def patch_of(name):
    museum = ROOT / "tests/exhibits" / name / "bug.patch"
    return museum if museum.exists() else ROOT / "tests/model/mutants" / f"{name}.patch"


def run(command, **options):
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **options)


def checked(command):
    done = run(command)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(map(str, command))}\n{done.stdout}")


def patched_files(tree, patch):
    """Copies what the patch touches into the tree and applies it there."""
    files = re.findall(r"^\+\+\+ b/(\S+)", patch.read_text(), re.M)
    for file in files:
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tree / file)
    checked(["patch", "-d", tree, "-p1", "-s", "--no-backup-if-mismatch", "-i", patch])
    return files


def depends(obj, files):
    dependencies = obj.with_suffix(".d").read_text().split()
    return any(file in dependencies for file in files)


def build_threads(tree):
    sources = [tree / source if (tree / source).exists() else source
               for source in os.environ["THREADS_SOURCES"].split()]
    checked([os.environ["CC"], f"-I{tree}", *shlex.split(os.environ["THREADS_CFLAGS"]), "-o",
             tree / "threads", *sources, "-lpthread"])


def build_model(tree, files):
    objects = []
    for obj in sorted((BUILD / "obj").rglob("*.o")):
        source = obj.relative_to(BUILD / "obj").with_suffix(".c")
        if str(source.with_suffix("")) in os.environ["HOOKED"].split() and depends(obj, files):
            objects.append(tree / f"{source.stem}.o")
            changed = tree / source if (tree / source).exists() else source
            checked([os.environ["CC"], f"-I{tree}", *shlex.split(os.environ["CFLAGS"]), "-c", changed,
                     "-o", objects[-1]])
        else:
            objects.append(obj)
    checked([os.environ["CC"], "-no-pie", "-o", tree / "model", *objects])


def run_mutant(name, scenario):
    """(exit status other than 0?, output, what was found)"""
    tree = BUILD / "mutants" / name
    shutil.rmtree(tree, ignore_errors=True)
    files = patched_files(tree, patch_of(name))
    if scenario == THREADS:
        build_threads(tree)
        command, report = ["setarch", "-R", tree / "threads"], r"SUMMARY: ThreadSanitizer: (.*)"
    else:
        build_model(tree, files)
        command, report = [tree / "model", scenario], r"VIOLATION on cpu\d: (.*)"
    done = run(command, timeout=LIMIT)
    return done.returncode != 0, done.stdout, re.search(report, done.stdout)


def caught(name, show):
    scenario, expected = MUTANTS[name]
    failed, output, found = run_mutant(name, scenario)
    if show:
        print(output, end="")
    if not failed or not found or not re.search(expected, found[1]):
        print("".join(f"# {line}\n" for line in output.splitlines()[-30:]), end="")
        return False
    print(f"# {name}: {scenario}: {found[1]}".replace(f"{ROOT}/", ""))
    return True


def main(names):
    wanted = names or sorted(MUTANTS)
    failed = 0
    start = time.monotonic()
    for number, name in enumerate(wanted, 1):
        try:
            good = caught(name, bool(names))
        except (RuntimeError, OSError, KeyError, subprocess.TimeoutExpired) as problem:
            print("".join(f"# {line}\n" for line in str(problem).splitlines()), end="")
            good = False
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} {name}", flush=True)
    print(f"# total: {len(wanted) - failed} of {len(wanted)} mutants caught, "
          f"{time.monotonic() - start:.0f} s\n1..{len(wanted)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
