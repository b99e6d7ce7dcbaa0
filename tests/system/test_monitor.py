"""A person at the console: prompt, help, mistakes, policies, killing, power-off."""
import pytest

from gather_vm import FAIL, parse_stat


@pytest.fixture
def monitor(boot):
    return boot("interactive=1 run=ps").prompt()


def test_a_session(monitor):
    for command in ("help", "ps", "stat", "mem", "tlb", "ls /bin", "cat /etc/motd"):
        assert len(monitor.command(command).splitlines()) > 1, command
    assert "did you mean 'help'?" in monitor.command("hlep")
    assert "no command 'frobnicate'" in monitor.command("frobnicate")
    assert "usage: cat PATH" in monitor.command("cat")
    assert "* full" in monitor.command("tlb full")
    assert "no policy 'fast'" in monitor.command("tlb fast")
    assert "tlb=full" in monitor.command("stat")
    assert "exit 0" in monitor.command("run hog --mib 1")
    assert "No such file" in monitor.command("run nothing")
    monitor.power_off()


def test_kill(monitor):
    monitor.command("run lru-read --mib 900 --passes 1000 &")
    monitor.command("sleep 1")  # all its processes have started
    pids = [line.split()[0] for line in monitor.command("ps").splitlines() if "lru-read" in line]
    assert len(pids) == 9, "eight readers and their parent"
    for pid in pids:
        monitor.command(f"kill {pid}")
    monitor.command("wait")
    monitor.command("sleep 1")  # the orphans end on their own CPUs
    assert "lru-read" not in monitor.command("ps")
    assert "No such process" in monitor.command("kill 9999")
    monitor.power_off()


def test_the_line_editor_on_the_console(monitor):
    monitor.send("mme\x7f\x7fem\r")
    monitor.expect(r"^  managed ")
    monitor.prompt()
    monitor.send("power\t\x15tl\t\r")
    monitor.expect(r"^. page ")
    monitor.prompt()
    monitor.send("\x1b[A\r")
    monitor.expect(r"^. page ")


def test_figures_of_stat_add_up(monitor):
    monitor.command("run churn --rounds 5")
    table = parse_stat(monitor.command("stat"))
    total = table.pop("total")
    assert len(table) == 7
    for column, value in total.items():
        assert value == sum(row[column] for row in table.values())


def test_power_off_with_a_status(monitor):
    monitor.send("poweroff 3\r")
    monitor.finish(FAIL)
