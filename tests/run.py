"""Runs the unit tests of the host, the model checker and the tests of the whole system; ends with one
line of totals.

    run.py [--host GLOB] [--model] [--system] [-- pytest arguments]
"""
import argparse
import fnmatch
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = ROOT / "build/host"
MODEL = [["build/model/model"], ["setarch", "-R", "build/model/threads"],
         [sys.executable, "tests/model/mutants.py"]]
REPORT = ROOT / "build/test/pytest.xml"
# Files of tests side by side: most machines run their CPUs in turn, on one core of the host.
JOBS = os.environ.get("JOBS") or min(2, os.cpu_count() or 1)
HOST_TIMEOUT = 300  # seconds, for one program: only there to end a loop


def host_programs(glob):
    return [HOST / source.stem for source in sorted((ROOT / "tests/host").glob("test_*.c"))
            if fnmatch.fnmatch(source.stem, f"test_{glob}")]


def run_host_program(command):
    """Returns (passed, failed); a program that died or counts wrong has a failure of its own."""
    name = Path(command[-1]).name
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", ASAN_OPTIONS="detect_leaks=1")
    try:
        run = subprocess.run(command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                             timeout=HOST_TIMEOUT)
        output, status = run.stdout, run.returncode
    except (OSError, subprocess.TimeoutExpired) as problem:
        output, status = f"{problem}\n", -1
    passed = len(re.findall(r"^ok \d+", output, re.M))
    failed = len(re.findall(r"^not ok \d+", output, re.M))
    plan = re.search(r"^1\.\.(\d+)", output, re.M)
    complete = plan and int(plan[1]) == passed + failed and passed > 0
    if not complete or (status != 0) != (failed > 0):
        failed += 1
    print(f"{'FAIL' if failed else 'ok':4} {name}: {passed} passed, {failed} failed")
    print("".join(f"     {line}\n" for line in re.findall(r"^# (total: .*)", output, re.M)), end="")
    if failed:
        print(output, end="")
        print(f"     again: {' '.join(map(str, command))}   (exit status {status})")
    return passed, failed


def run_host(glob):
    programs = host_programs(glob)
    if not programs:
        print(f"no unit test is called test_{glob}")
        return 0, 1
    counts = [run_host_program([program.relative_to(ROOT)]) for program in programs]
    return sum(c[0] for c in counts), sum(c[1] for c in counts)


def run_model():
    counts = [run_host_program(command) for command in MODEL]
    return sum(c[0] for c in counts), sum(c[1] for c in counts)


def run_pytest(arguments):
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={REPORT}",
               "-q", "--durations=5", f"-n{JOBS}", "--dist=loadfile", *(arguments or [])]
    if not any(Path(a.split("::")[0]).exists() for a in arguments if not a.startswith("-")):
        command += ["tests/tools", "tests/system"]
    status = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode
    if not REPORT.exists():
        return 0, 1
    suite = xml.etree.ElementTree.parse(REPORT).getroot().find("testsuite")
    total, failed = int(suite.get("tests")), int(suite.get("failures")) + int(suite.get("errors"))
    skipped = int(suite.get("skipped"))
    if skipped:
        print(f"{skipped} skipped: a test that cannot run counts as failed")
    passed = total - failed - skipped
    failed += skipped
    if (status != 0 and not failed) or passed + failed == 0:
        failed += 1
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", metavar="GLOB")
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--system", action="store_true")
    parser.add_argument("pytest", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    if options.host:
        p, f = run_host(options.host)
        passed, failed = passed + p, failed + f
    if options.model:
        p, f = run_model()
        passed, failed = passed + p, failed + f
    if options.system:
        p, f = run_pytest(options.pytest)
        passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
