"""Booting: numbers of CPUs, sparse ids, emulators' threads, firmware, memory, and the ways out."""
import pytest

from gather_vm import FAIL, ISO, OVMF, PANIC, PASS

MIN_MEM = 32  # MiB; the least the documentation promises


def check_cpus(vm, cpus):
    assert len(vm.lines(rf"smp: {cpus} of {cpus} CPUs online")) == 1, vm.console
    assert vm.result(exp="totals")["cpus"] == cpus


@pytest.mark.parametrize("accel", ["multi", "single"])
@pytest.mark.parametrize("cpus", [1, 2, 4, 8, 16, 64])
def test_cpus(boot, cpus, accel):
    vm = boot(f"run=ps;poweroff expect_cpus={cpus}", cpus=cpus, accel=accel, mem=128,
              iso=ISO if accel == "single" else None).finish()
    check_cpus(vm, cpus)


def test_sparse_apic_ids(run):
    vm = run("stat; poweroff", "expect_cpus=6", cpus="6,sockets=2,cores=3")
    check_cpus(vm, 6)
    rows = [line.split()[:2] for line in vm.lines(r"^\d+ +\d+( +\d+){6}$")][:6]
    assert rows == [[str(i), apic] for i, apic in enumerate("012456")]


@pytest.mark.parametrize("cpus", [1, 8])
def test_uefi(run, cpus):
    assert OVMF.exists(), "package ovmf"
    vm = run("run lru-read --mib 4; poweroff", f"expect_cpus={cpus}", cpus=cpus, mem=128,
             iso=ISO, extra=["-bios", str(OVMF)])
    check_cpus(vm, cpus)
    assert vm.result(workload="lru-read")["bad_pages"] == 0


@pytest.mark.parametrize("mem", [MIN_MEM, 64, 1024, 4096])
def test_memory(run, mem):
    vm = run("mem; run hog --mib 8; run lru-read --mib 8; poweroff", mem=mem, iso=ISO)
    managed = int(vm.lines(r"^  managed ")[0].split()[1])
    assert managed * 4 >= (mem - 4) * 1024 * 0.95, "most of the memory is used"
    assert vm.result(workload="hog")["bad_pages"] == 0
    assert vm.result(workload="lru-read")["bad_pages"] == 0


def test_too_little_memory_is_said(boot):
    vm = boot("run=poweroff", mem=12, iso=ISO, stall=60)
    status = vm.wait_exit()
    assert status == PASS or (status == PANIC and vm.lines(r"KERNEL PANIC: .*memory")), vm.console


@pytest.mark.parametrize("cpus, expected", [(4, 8), (8, 4)])
def test_a_wrong_number_of_cpus_is_a_panic(boot, cpus, expected):
    vm = boot(f"expect_cpus={expected} run=poweroff", cpus=cpus).finish(PANIC)
    message = vm.lines("KERNEL PANIC")[0]
    assert str(cpus) in message and str(expected) in message, message


def test_a_panic_says_where(boot):
    vm = boot("expect_cpus=3", cpus=2).finish(PANIC)
    assert vm.lines(r"on cpu\d+, thread ")
    assert any("+0x" in line for line in vm.console.splitlines()[-12:]), "a symbolised backtrace"


def test_boot_stages_are_shown(run):
    vm = run("poweroff", iso=ISO)
    stages = ["Booting", "protected mode", "long mode", "Gather: ", "cpu: ", "acpi: ", "mm: ",
              "clock: ", "lapic: ", "smp: ", "fs: "]
    positions = [vm.console.find(stage) for stage in stages]
    assert -1 not in positions and positions == sorted(positions), vm.console


def test_words_nobody_knows_do_not_stop_it(run):
    vm = run("poweroff", "tlb=fast fail=everything nonsense=1 =x =")
    assert vm.lines("tlb=fast is unknown") and vm.lines("fail=everything is unknown")


def test_a_long_command_line_is_reported(run):
    vm = run("poweroff", "x" * 1200)
    assert vm.lines("command line was cut")


def test_loglevel(run):
    assert not run("poweroff", "loglevel=0").lines(r"^\[.*\] cpu0: (smp|mm|lapic): ")


def test_exit_status(run):
    run("poweroff 1", status=FAIL)
    run("nonsense", status=FAIL)


def test_acpi_power_off_without_the_exit_device(run):
    run("poweroff", status=0, debug_exit=False)


def test_reboot(run):
    run("reboot", status=0)


def test_without_fw_cfg_it_runs_the_tour(boot):
    boot(None).expect(r"^Plan: for each of 4 policies")


# What a CPU model lacks, as QEMU takes it away, and the names that must be in the line.
LACKING = {"qemu64,-nx": ["nx"], "qemu64,-syscall": ["syscall"], "qemu64,-pge": ["pge"],
           "qemu64,-apic": ["apic"], "qemu64,-fxsr": ["fxsr"], "qemu64,-sse2": ["sse2"],
           "qemu64,-tsc": ["tsc"], "qemu64,-nx,-pge": ["pge", "nx"],
           "qemu64,-lm": ["64-bit-mode"], "qemu32": ["64-bit-mode"], "pentium": ["64-bit-mode"]}


def check_lacking(vm, names):
    assert vm.wait_exit(stall=60) == PANIC, vm.console
    line, = vm.lines("^boot: this CPU lacks ")
    assert set(names) <= set(line.split(":")[1].split()), line
    assert "long mode" not in vm.console


@pytest.mark.parametrize("cpu", LACKING)
def test_an_unsupported_cpu_is_named_and_ends_the_run(boot, cpu):
    check_lacking(boot("run=poweroff", iso=ISO, extra=["-cpu", cpu]), LACKING[cpu])


@pytest.mark.parametrize("cpu", ["qemu64,-nx", "qemu64,-lm"])
def test_an_unsupported_cpu_by_the_pvh_entry(boot, cpu):
    check_lacking(boot("run=poweroff", extra=["-cpu", cpu]), LACKING[cpu])


@pytest.mark.parametrize("cpu", ["qemu64", "Nehalem", "EPYC", "max,-xsave,-smap,-smep"])
def test_supported_cpus(run, cpu):
    run("run lru-read --mib 4; poweroff", extra=["-cpu", cpu])
