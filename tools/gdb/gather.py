"""gdb commands that know Gather: cpus, threads, batch, pte.

Loaded by gather.gdb. They read memory through the debug symbols of build/gather.elf and change nothing.
"""
import gdb

DIRECT_MAP = 0xffff800000000000
ADDRESS = 0x000ffffffffff000
PRESENT, LARGE = 1 << 0, 1 << 7
FLAGS = [(0, "P"), (1, "W"), (2, "U"), (3, "PWT"), (4, "PCD"), (5, "A"), (6, "D"), (7, "PS"),
         (8, "G"), (63, "NX")]
STATES = ["running", "sleeping", "killable", "dead"]


# ---- Reading the kernel's structures ----------------------------------------------------------

def symbol(name):
    return gdb.parse_and_eval(name)


def struct(name):
    return gdb.lookup_type("struct " + name)


def offset_of(type_, field):
    return next(f.bitpos // 8 for f in type_.fields() if f.name == field)


def list_entries(head, type_name, field):
    """The structures on a circular list, starting behind its head. An unused head has no next."""
    type_ = struct(type_name)
    offset, end = offset_of(type_, field), int(head.address)
    node = int(head["next"])
    while node not in (0, end):
        entry = gdb.Value(node - offset).cast(type_.pointer()).dereference()
        yield entry
        node = int(entry[field]["next"])


def string(value):
    return value.string(errors="replace") if value.type.sizeof else ""


def online(cpu):
    return int(symbol("cpu_online_mask")) >> cpu & 1


def all_cpus():
    cpus = symbol("cpus")
    return [cpus[i] for i in range(int(symbol("nr_cpus_present")))]


def this_cpu():
    """The selected CPU's struct cpu: GS points at it in the kernel, the swapped GS in user mode."""
    first, size = int(symbol("cpus").address), struct("cpu").sizeof
    for register in ("$gs_base", "$k_gs_base"):
        offset = int(symbol(register)) & (1 << 64) - 1
        if first <= offset < first + 64 * size:
            return symbol("cpus")[(offset - first) // size]
    raise gdb.GdbError("this CPU has not set up its struct cpu yet")


def all_threads():
    """Threads of tasks, and kernel threads as far as a CPU or a queue names them. By tid."""
    found = {}

    def add(pointer):
        if int(pointer):
            found.setdefault(int(pointer), pointer.dereference())

    for cpu in all_cpus():
        add(cpu["curr"])
        add(cpu["idle"])
        for priority in range(cpu["rq"]["queue"].type.range()[1] + 1):
            for thread in list_entries(cpu["rq"]["queue"][priority], "thread", "run_node"):
                add(thread.address)
        for thread in list_entries(cpu["sleepers"], "thread", "timer_node"):
            add(thread.address)
    for task in list_entries(symbol("tasks"), "task", "node"):
        for thread in list_entries(task["threads"], "thread", "task_node"):
            add(thread.address)
    for waiter in list_entries(symbol("kswapd_wait")["waiters"], "waiter", "node"):
        add(waiter["thread"])
    return sorted(found.values(), key=lambda t: int(t["tid"]))


def find_thread(text):
    """By tid, by name, or the selected CPU's current one."""
    if not text:
        return this_cpu()["curr"].dereference()
    for thread in all_threads():
        if text in (str(int(thread["tid"])), string(thread["name"])):
            return thread
    raise gdb.GdbError(f"no thread {text}; `threads` lists them")


def cpu_list(mask):
    cpus = [i for i in range(64) if mask >> i & 1]
    return ",".join(map(str, cpus)) or "none"


class Command(gdb.Command):
    """Turns errors of half-initialised memory into one line."""

    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        try:
            self.run(gdb.string_to_argv(argument))
        except gdb.MemoryError as problem:
            raise gdb.GdbError(f"{problem} (has the kernel come that far?)")
        except gdb.error as problem:
            raise gdb.GdbError(str(problem))


# ---- The commands ------------------------------------------------------------------------------

class Cpus(Command):
    """cpus: what each CPU runs, which address space its TLB serves, which flushes it owes."""

    def run(self, argv):
        print("cpu apic state    current              preempt resched  mm   lazy gen/mm's   "
              "pending from  unacked by")
        for cpu in all_cpus():
            self.show(cpu)

    def show(self, cpu):
        tlb, mm = cpu["tlb"], cpu["tlb"]["loaded_mm"]
        name = f"{string(cpu['curr']['name'])} ({int(cpu['curr']['tid'])})" if int(cpu["curr"]) else "-"
        generations = f"{int(tlb['local_gen'])}/{int(mm['tlb_gen'])}" if int(mm) else "-"
        print(f"{int(cpu['id']):3} {int(cpu['apic_id']):4} "
              f"{'online' if online(int(cpu['id'])) else 'offline':8} {name:20} "
              f"{int(cpu['preempt_count']):7} {int(cpu['need_resched']):7} "
              f"{int(mm['id']) if int(mm) else '-':>3} {int(tlb['lazy']):6} {generations:10} "
              f"{cpu_list(int(tlb['pending'])):13} {cpu_list(int(tlb['request']['unacked']))}")


class Threads(Command):
    """threads: every thread, its state, priority and CPU, and how full its flush batch is."""

    def run(self, argv):
        print("    tid state    prio cpu  on queue  batch  name")
        for thread in all_threads():
            batch = thread["tlb_ubc"]
            frames = str(int(batch["nr_pages"])) if int(batch) else "-"
            state = int(thread["state"])
            print(f"{int(thread['tid']):7} {STATES[state] if state < 4 else state:8} "
                  f"{int(thread['prio']):4} {int(thread['cpu']):3}  {str(bool(thread['on_rq'])):8}  "
                  f"{frames:5}  {string(thread['name'])}")


class Batch(Command):
    """batch [TID|NAME]: the flush batch of a thread, by default of the current one."""

    SHOWN = 8

    def run(self, argv):
        thread = find_thread(argv[0] if argv else "")
        name, batch = string(thread["name"]), thread["tlb_ubc"]
        policy = symbol("tlb_policy").dereference()
        print(f"policy {string(policy['name'])}: flush at {int(policy['capacity'])} frames")
        if not int(batch):
            print(f"{name} has no batch page")
            return
        frames = int(batch["nr_pages"])
        print(f"batch of {name}: {frames} frames in limbo, CPUs {cpu_list(int(batch['cpumask']))}, "
              f"{'dirty' if int(batch['writable']) else 'clean'}, "
              f"{'a flush is owed' if int(batch['flush_required']) else 'nothing is owed'}")
        pfns = [f"{int(batch['pfns'][i]):x}" for i in range(min(frames, self.SHOWN))]
        if pfns:
            print("  " + " ".join(pfns) + (" ..." if frames > self.SHOWN else ""))


class Pte(Command):
    """pte ADDRESS [MM]: walks the page tables, from this CPU's CR3 or from MM (a struct mm *)."""

    LEVELS = ["PT", "PD", "PDPT", "PML4"]

    def run(self, argv):
        if not 1 <= len(argv) <= 2:
            raise gdb.GdbError("usage: pte ADDRESS [MM]")
        value = symbol(argv[0])
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_STRUCT):
            value = value.address
        address = int(value) & (1 << 64) - 1
        table = int(symbol(argv[1])["cr3"] if len(argv) == 2 else symbol("$cr3")) & ADDRESS
        for level in range(3, -1, -1):
            entry = self.read(table + (address >> 12 + 9 * level & 511) * 8)
            flags = " ".join(name for bit, name in FLAGS if entry >> bit & 1)
            print(f"{self.LEVELS[level]:5} {address >> 12 + 9 * level & 511:4}: {entry:016x}  {flags}")
            if not entry & PRESENT:
                print(f"{address:x} is not mapped")
                return
            table = entry & ADDRESS
            if level == 0 or entry & LARGE:
                self.show(address, table, 12 + 9 * level)
                return

    def read(self, physical):
        memory = gdb.selected_inferior().read_memory(DIRECT_MAP + physical, 8)
        return int.from_bytes(bytes(memory), "little")

    def show(self, address, frame, shift):
        physical = (frame >> shift << shift) | (address & (1 << shift) - 1)
        print(f"{address:x} -> physical {physical:x}, frame {physical >> 12:x}, "
              f"{'4 KiB' if shift == 12 else '2 MiB' if shift == 21 else '1 GiB'} page")


for command, name in ((Cpus, "cpus"), (Threads, "threads"), (Batch, "batch"), (Pte, "pte")):
    command(name)
