# tools.mk - set-up, doctor, debugger, size of the code.
#
#   make doctor        what is missing, and from which package it comes
#   make setup         installs it (Debian, Ubuntu)
#   make gdb           QEMU waits for gdb, which comes with the kernel's commands loaded
#   make loc           code lines against the budget
#   make bochs CMDLINE="run=run+tlbprobe"       the same kernel in Bochs, which shows what QEMU hides
#   make replay SEED=7 TEST="run=run+churn"   one interleaving, the same in every run
#   make replay SEED=7 TEST=.. GDB=1          the same in gdb, up to where the kernel finds its fault
#   make explore N=1000 TEST=ktest            many seeds, JOBS at a time; stops at the first that fails
#   make trace         a short tour, every event of it in build/trace.json for ui.perfetto.dev
#   make trace CMDLINE="run=run+churn"        the same of something else

SETUP_GROUPS := build run test
GDB ?= gdb
GDB_PORT ?= 1234

.PHONY: bochs doctor setup $(SETUP_GROUPS:%=setup-%) gdb loc replay explore trace

doctor:
	@tools/doctor

setup: $(SETUP_GROUPS:%=setup-%)
$(SETUP_GROUPS:%=setup-%): setup-%: build/.setup-%

# One stamp a group: nothing is looked for twice.
build/.setup-%: tools/requirements.tab
	@mkdir -p $(@D)
	@tools/setup $*
	@touch $@

# One after the other, for make -j: the package manager has one lock.
build/.setup-run: | build/.setup-build
build/.setup-test: | build/.setup-run

# What is built needs the tools, whoever asks for it.
build/gen/flags build/gather.iso: | build/.setup-build
$(foreach p,$(USER_PROGRAMS),$(call user_objects,user,$(p))): | build/.setup-build
run: | build/.setup-run

gdb: build/gather.elf build/gather.iso | build/.setup-run build/.setup-test
	@GDB="$(GDB)" CMDLINE="$(CMDLINE)" tools/gdb/start $(GDB_PORT) $(QEMU) $(QEMU_FLAGS)

# TEST: a kernel command line.
TEST ?= ktest
SEED ?= 1
N ?= 100
replay explore: build/gather.elf build/initrd.tar build/initrd/bin/fs | build/.setup-run
replay:
	@QEMU="$(QEMU)" CPUS="$(CPUS)" tools/replay "$(SEED)" "$(TEST)"
explore:
	@QEMU="$(QEMU)" CPUS="$(CPUS)" tools/explore "$(N)" "$(TEST)"

bochs: iso | build/.setup-test
	@CPUS="$(CPUS)" MEM="$(MEM)" tools/bochs "$(CMDLINE)"

# Reclaim under three policies, a second of each; the trace is off until memory is full.
TRACE_TOUR := run=trace+off;run+lru-read+--lockstep+--mib+64+--passes+9+&;sleep+2;trace+on;$\
	tlb+page;sleep+1;tlb+batch32;sleep+1;tlb+pfn;sleep+1;trace+off;poweroff

trace: MEM = 32
trace: iso | build/.setup-run build/.setup-test
	@rm -f build/trace.bin build/trace.json
	@CMDLINE="trace=port $(or $(CMDLINE),$(TRACE_TOUR))" tools/run build/cmdline $(QEMU) \
		$(QEMU_FLAGS) -debugcon file:build/trace.bin </dev/null
	@$(PYTHON) tools/trace2perfetto build/trace.bin build/trace.json

loc:
	@tools/loc
