# user.mk - the ring-3 programs: built with musl for Gather, with the host's compiler for Linux.
#
# build/user/<prog>    static executable with symbols (gdb)
# build/linux/<prog>   a workload from the same source, for the host
# build/initrd.tar     the boot archive: stripped programs in bin/, and etc/motd

MUSL_CC ?= musl-gcc
LINUX_CC ?= gcc
USER_STRIP ?= strip

USER_WARNINGS := -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes
USER_CFLAGS := -std=gnu11 -O2 -g -fno-pie -I. $(USER_WARNINGS) \
	-fdebug-prefix-map=$(CURDIR)=.
USER_LDFLAGS := -static -no-pie -pthread

USER_LIB := $(wildcard user/lib/*.c)

# Sources of each program; the library is linked to all of them.
USER_SRC_fs := $(wildcard user/fs/*.c)
USER_SRC_monitor := $(wildcard user/monitor/*.c)
USER_SRC_lru-read := user/workloads/lru-read.c
USER_SRC_lru-write := user/workloads/lru-write.c
USER_SRC_churn := user/workloads/churn.c
USER_SRC_spin := user/workloads/spin.c
USER_SRC_hog := user/workloads/hog.c
USER_SRC_movers := user/workloads/movers.c
USER_SRC_fragment := user/workloads/fragment.c
USER_SRC_pingpong := user/workloads/pingpong.c
USER_SRC_badptr := user/workloads/badptr.c
USER_SRC_pager := user/workloads/pager.c
USER_SRC_hostile := user/workloads/hostile.c
USER_SRC_hoard := user/workloads/hoard.c
USER_SRC_tlbprobe := user/workloads/tlbprobe.c
USER_SRC_purge-latency := user/workloads/purge-latency.c
USER_SRC_vmalloc-test := user/workloads/vmalloc-test.c
USER_SRC_cyclic := user/workloads/cyclic.c
USER_SRC_files := user/workloads/files.c
USER_SRC_cut := user/workloads/cut.c
USER_SRC_descriptors := user/workloads/descriptors.c
USER_SRC_pipes := user/workloads/pipes.c
USER_SRC_ranges := user/workloads/ranges.c
USER_SRC_procs := user/workloads/procs.c
USER_SRC_clocks := user/workloads/clocks.c
USER_SRC_spread := user/workloads/spread.c
USER_SRC_cpustate := user/workloads/cpustate.c
USER_SRC_killable := user/workloads/killable.c
USER_SRC_rights := user/workloads/rights.c
USER_SRC_vmtest-args := user/workloads/vmtest-args.c

USER_WORKLOADS := lru-read lru-write churn movers fragment pingpong hog spin badptr cyclic \
	ranges procs clocks spread cpustate hoard \
	files cut descriptors pipes
USER_PROGRAMS := fs monitor tlbprobe pager hostile purge-latency vmalloc-test vmtest-args rights \
	killable $(USER_WORKLOADS)

build/user/obj/%.o: user/%.c user/user.mk
	@mkdir -p $(@D)
	$(MUSL_CC) $(USER_CFLAGS) -MMD -MP -c -o $@ $<

build/linux/obj/%.o: user/%.c user/user.mk
	@mkdir -p $(@D)
	$(LINUX_CC) $(USER_CFLAGS) -MMD -MP -c -o $@ $<

user_objects = $(patsubst user/%.c,build/$(1)/obj/%.o,$(USER_SRC_$(2)) $(USER_LIB))

define user_program
build/user/$(1): $(call user_objects,user,$(1))
	$$(MUSL_CC) $$(USER_LDFLAGS) -o $$@ $$^
build/initrd/bin/$(1): build/user/$(1)
	@mkdir -p $$(@D)
	$$(USER_STRIP) -o $$@ $$<
endef
define linux_program
build/linux/$(1): $(call user_objects,linux,$(1))
	$$(LINUX_CC) -no-pie -pthread -o $$@ $$^
endef
$(foreach p,$(USER_PROGRAMS),$(eval $(call user_program,$(p))))
$(foreach p,$(USER_WORKLOADS),$(eval $(call linux_program,$(p))))

build/initrd/etc/motd: user/etc/motd
	@mkdir -p $(@D)
	cp $< $@

USER_INITRD := $(addprefix bin/,$(USER_PROGRAMS)) etc/motd

# Sorted names, fixed owner, mode and time: the same sources make the same bytes.
build/initrd.tar: $(addprefix build/initrd/,$(USER_INITRD))
	tar --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		-C build/initrd -cf $@.tmp $(sort $(USER_INITRD))
	mv $@.tmp $@

.PHONY: user linux-workloads
user: $(addprefix build/user/,$(USER_PROGRAMS))
linux-workloads: $(addprefix build/linux/,$(USER_WORKLOADS))

-include $(shell find build/user/obj build/linux/obj -name '*.d' 2>/dev/null)
