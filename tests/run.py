"""Runs the unit tests of the host and the tests of the whole system; ends with one line of totals.

    run.py [--host GLOB] [--system] [-- pytest arguments]
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
REPORT = ROOT / "build/test/pytest.xml"
HOST_TIMEOUT = 300  # seconds, for one program: only there to end a loop


def host_programs(glob):
    return [HOST / source.stem for source in sorted((ROOT / "tests/host").glob("test_*.c"))
            if fnmatch.fnmatch(source.stem, f"test_{glob}")]


def run_host_program(program):
    """Returns (passed, failed); a program that died or counts wrong has a failure of its own."""
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", ASAN_OPTIONS="detect_leaks=1")
    try:
        run = subprocess.run([program], env=env, cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
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
    print(f"{'FAIL' if failed else 'ok':4} {program.name}: {passed} passed, {failed} failed")
    if failed:
        print(output, end="")
        print(f"     again: build/host/{program.name}   (exit status {status})")
    return passed, failed


def run_host(glob):
    programs = host_programs(glob)
    if not programs:
        print(f"no unit test is called test_{glob}")
        return 0, 1
    counts = [run_host_program(program) for program in programs]
    return sum(c[0] for c in counts), sum(c[1] for c in counts)


def run_pytest(arguments):
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={REPORT}",
               "-q", "--durations=5", *(arguments or [])]
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
    parser.add_argument("--system", action="store_true")
    parser.add_argument("pytest", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    if options.host:
        p, f = run_host(options.host)
        passed, failed = passed + p, failed + f
    if options.system:
        p, f = run_pytest(options.pytest)
        passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
