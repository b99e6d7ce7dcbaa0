"""tools/setup and tools/doctor on machines that lack something, with other package managers."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = """\
# comment
build cmd:frob  2.0 frob-deb  frob-fed  frob-arch  frob-suse  frob-alp  frob-brew
test  cmd:xyzzy -   xyzzy-deb xyzzy-fed xyzzy-arch xyzzy-suse xyzzy-alp xyzzy-brew
"""
APT_GET = """\
#!/bin/sh
echo "$*" >>"$LOG"
[ "$1" = install ] || exit 0
[ "$DEBIAN_FRONTEND" = noninteractive ] || exit 9
[ -n "$BROKEN" ] && exit 100
for package; do
    case $package in *-deb)
        printf '#!/bin/sh\\necho tool 2.5\\n' >"$BIN/${package%-deb}"
        chmod +x "$BIN/${package%-deb}" ;;
    esac
done
"""


class Machine:
    """A PATH with the basic commands only, and what the test adds."""

    def __init__(self, directory, managers, as_root=True):
        self.bin, self.log, self.tools = directory / "bin", directory / "log", directory / "tools"
        self.bin.mkdir()
        self.log.touch()
        shutil.copytree(ROOT / "tools", self.tools)
        (self.tools / "requirements.tab").write_text(TABLE)
        for command in ("sh", "sed", "tr", "awk", "env", "dirname", "chmod", "cat"):
            (self.bin / command).symlink_to(shutil.which(command))
        self.add("id", f"echo {0 if as_root else 1000}")
        for manager in managers:
            self.add(manager, APT_GET if manager == "apt-get" else "exit 0")

    def add(self, name, script):
        path = self.bin / name
        path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def run(self, tool, *arguments, **environment):
        env = {"PATH": str(self.bin), "LOG": str(self.log), "BIN": str(self.bin), **environment}
        return subprocess.run([str(self.bin / "sh"), str(self.tools / tool), *arguments], env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def calls(self):
        return self.log.read_text().splitlines()


@pytest.fixture
def machine(tmp_path):
    return lambda *managers, **options: Machine(tmp_path, managers, **options)


def test_apt_installs_what_is_missing(machine):
    m = machine("apt-get")
    result = m.run("setup", "build", "test")
    assert result.returncode == 0, result.stderr
    calls = m.calls()
    assert calls[0].startswith("update") and calls[1].startswith("install -y")
    assert calls[1].endswith("frob-deb xyzzy-deb") and len(calls) == 2
    assert m.run("setup", "build", "test").returncode == 0
    assert len(m.calls()) == 2, "nothing is installed twice"


def test_only_the_groups_asked_for(machine):
    m = machine("apt-get")
    assert m.run("setup", "build").returncode == 0
    assert m.calls()[1].endswith("frob-deb")


def test_too_old_counts_as_missing(machine):
    m = machine("apt-get")
    m.add("frob", "echo frob version 1.9 '(Debian 3.0)'")
    assert m.run("setup", "build").returncode == 0
    assert m.calls()[1].endswith("frob-deb")


def test_new_enough_needs_nothing(machine):
    m = machine("apt-get")
    m.add("frob", "echo frob version 10.0")
    assert m.run("setup", "build").returncode == 0
    assert m.calls() == []


def test_sudo_when_not_root(machine):
    m = machine("apt-get", as_root=False)
    m.add("sudo", 'echo "sudo $1" >>"$LOG"; exec "$@"')
    assert m.run("setup", "build").returncode == 0
    assert m.calls()[0] == "sudo apt-get"


def test_neither_root_nor_sudo_says_what_to_type(machine):
    m = machine("apt-get", as_root=False)
    result = m.run("setup", "build")
    assert result.returncode == 1
    assert "apt-get install -y --no-install-recommends frob-deb" in result.stderr


def test_a_failing_apt_is_reported(machine):
    result = machine("apt-get").run("setup", "build", BROKEN="1")
    assert result.returncode == 1
    assert "could not install: frob-deb" in result.stderr


@pytest.mark.parametrize("manager, command", [
    ("dnf", "dnf install -y frob-fed"),
    ("pacman", "pacman -S --needed frob-arch"),
    ("zypper", "zypper install frob-suse"),
    ("apk", "apk add frob-alp"),
    ("brew", "brew install frob-brew"),
])
def test_elsewhere_the_command_is_printed(machine, manager, command):
    result = machine(manager).run("setup", "build")
    assert result.returncode == 1
    assert command in result.stderr and "frob" in result.stderr


def test_without_a_known_package_manager(machine):
    result = machine().run("setup", "build")
    assert result.returncode == 1
    assert "Debian packages frob-deb" in result.stderr


def test_doctor_names_what_is_missing(machine):
    m = machine("apt-get")
    m.add("frob", "echo frob 1.0")
    result = m.run("doctor")
    assert result.returncode == 1
    rows = {line.split()[1]: line for line in result.stdout.splitlines() if line.startswith(("b", "t"))}
    assert "1.0" in rows["frob"] and "2.0" in rows["frob"] and "TOO OLD" in rows["frob"]
    assert "MISSING" in rows["xyzzy"] and "xyzzy-deb" in rows["xyzzy"]
    m.run("setup")
    assert m.run("doctor").returncode == 0
