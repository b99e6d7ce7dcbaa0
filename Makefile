# Gather: the kernel, its ISO, and running it. Stock packages of the host only; see README.md.
#
#   make               the kernel and the ISO
#   make run           boots it and runs the tour; in a terminal the monitor's prompt follows
#   make run CMDLINE="run=run+churn;stat"   other things to do: see docs/01-boot.md
#   make CC=clang      with the other compiler
#   make WERROR=1      warnings are errors, as in CI
#   make RELEASE=1     without sync points and sanitizer
#   make clean         removes build/
#   make help          this list

BUILD := build
CC := gcc
NASM := nasm
LD := ld
NM := nm
OBJCOPY := objcopy
AWK := awk

CPUS ?= 8
MEM ?= 64
ACCEL ?= tcg,thread=single
CMDLINE ?=
QEMU ?= qemu-system-x86_64

ifeq ($(CI),true)
WERROR ?= 1
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

all: iso
.PHONY: all kernel iso run clean help FORCE

# ---- The kernel ------------------------------------------------------------------------------

KERNEL_DIRS := boot arch drivers kernel mm tests/kernel
KERNEL_C := $(filter-out arch/asm-offsets.c $(if $(RELEASE),mm/tlbsan.c mm/tlbsan_rules.c),$(wildcard $(addsuffix /*.c,$(KERNEL_DIRS))))
KERNEL_ASM := $(wildcard $(addsuffix /*.asm,$(KERNEL_DIRS)))
KERNEL_OBJ := $(KERNEL_C:%=$(BUILD)/obj/%.o) $(KERNEL_ASM:%=$(BUILD)/obj/%.o)

KERNEL_CFLAGS := -std=gnu11 -O2 -g -ffreestanding -fno-pic -mcmodel=kernel -mno-red-zone \
	-mgeneral-regs-only -fno-stack-protector -fno-omit-frame-pointer -fno-strict-aliasing \
	-fno-common -fcf-protection=none -fno-asynchronous-unwind-tables \
	-Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wold-style-definition -Wshadow \
	-Wundef -Wwrite-strings -Wvla $(if $(WERROR),-Werror)
KERNEL_CPPFLAGS := -I. -DGATHER_KERNEL $(if $(RELEASE),-DGATHER_RELEASE)
KERNEL_LDFLAGS := -nostdlib -static -z max-page-size=0x1000 -z noexecstack --build-id=none

kernel: $(BUILD)/gather.elf

# Remade, and everything after it, only when the tools or flags differ from the last build's.
$(BUILD)/gen/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(KERNEL_CFLAGS) $(KERNEL_CPPFLAGS) $(NASM)' | cmp -s - $@ || \
		echo '$(CC) $(KERNEL_CFLAGS) $(KERNEL_CPPFLAGS) $(NASM)' >$@

$(BUILD)/obj/%.c.o: %.c $(BUILD)/gen/flags
	@mkdir -p $(@D)
	@echo "  CC   $<"
	@$(CC) $(KERNEL_CFLAGS) $(KERNEL_CPPFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/obj/%.asm.o: %.asm $(BUILD)/gen/asm-offsets.inc
	@mkdir -p $(@D)
	@echo "  NASM $<"
	@$(NASM) -f elf64 -g -F dwarf -I$(BUILD)/gen/ -o $@ $<

$(BUILD)/gen/asm-offsets.inc: arch/asm-offsets.c $(BUILD)/gen/flags
	@mkdir -p $(@D)
	@echo "  GEN  $@"
	@$(CC) $(KERNEL_CFLAGS) $(KERNEL_CPPFLAGS) -MMD -MP -MT $@ -MF $(BUILD)/gen/asm-offsets.d \
		-S -o $(BUILD)/gen/asm-offsets.s $<
	@sed -n 's/.*"->\([A-Z0-9_]*\) \(.*\)".*/%define \1 \2/p' $(BUILD)/gen/asm-offsets.s >$@

# Two links: the first finds the addresses that the symbol table of the second holds
# (kernel/symbols.h).
$(BUILD)/gen/ksyms-empty.c: tools/ksyms.awk
	@mkdir -p $(@D)
	@$(AWK) -f $< /dev/null >$@

$(BUILD)/gen/ksyms.c: $(BUILD)/gather-pass1.elf tools/ksyms.awk
	@echo "  GEN  $@"
	@$(NM) -n $< | $(AWK) -f tools/ksyms.awk >$@

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/gen/flags
	@$(CC) $(KERNEL_CFLAGS) $(KERNEL_CPPFLAGS) -c $< -o $@

$(BUILD)/gather-pass1.elf: $(KERNEL_OBJ) $(BUILD)/gen/ksyms-empty.o linker.ld
	@$(LD) $(KERNEL_LDFLAGS) -T linker.ld -o $@ $(KERNEL_OBJ) $(BUILD)/gen/ksyms-empty.o

$(BUILD)/gather.elf: $(KERNEL_OBJ) $(BUILD)/gen/ksyms.o linker.ld
	@echo "  LD   $@"
	@$(LD) $(KERNEL_LDFLAGS) -T linker.ld -o $@ $(KERNEL_OBJ) $(BUILD)/gen/ksyms.o

-include $(KERNEL_OBJ:.o=.d) $(BUILD)/gen/asm-offsets.d

# ---- The ISO -----------------------------------------------------------------------------------

include user/user.mk

ISO_ROOT := $(BUILD)/iso-root

iso: $(BUILD)/gather.iso

$(BUILD)/gather.iso: $(BUILD)/gather.elf $(BUILD)/initrd/bin/fs $(BUILD)/initrd.tar iso/grub.cfg
	@mkdir -p $(ISO_ROOT)/boot/grub
	@$(OBJCOPY) --strip-all $(BUILD)/gather.elf $(ISO_ROOT)/boot/gather.elf
	@cp $(BUILD)/initrd/bin/fs $(BUILD)/initrd.tar $(ISO_ROOT)/boot/
	@cp iso/grub.cfg $(ISO_ROOT)/boot/grub/grub.cfg
	@echo "  ISO  $@"
	@grub-mkrescue -o $@ $(ISO_ROOT) >$(BUILD)/grub-mkrescue.log 2>&1 || { \
		cat $(BUILD)/grub-mkrescue.log; \
		echo "grub-mkrescue failed: it needs the packages xorriso, mtools, grub-pc-bin"; \
		echo "(and grub-efi-amd64-bin for UEFI)."; exit 1; }

# ---- Running it ----------------------------------------------------------------------------------

# One host thread runs all CPUs in turn: counts repeat, and an IPI costs no host scheduling.
# ACCEL=tcg,thread=multi runs the CPUs in parallel.
QEMU_FLAGS = -machine pc -accel $(ACCEL) -cpu max -smp $(CPUS) -m $(MEM) \
	-cdrom $(BUILD)/gather.iso -display none -no-reboot -net none \
	-device isa-debug-exit,iobase=0xf4,iosize=0x04

run: iso
	@CMDLINE="$(CMDLINE)" tools/run $(BUILD)/cmdline $(QEMU) $(QEMU_FLAGS)

clean:
	rm -rf $(BUILD)

help:
	@sed -n 's/^#   //p' Makefile tools/tools.mk tests/tests.mk tests/model/model.mk \
		tests/exhibits.mk
	@echo 'variables: CPUS=$(CPUS) MEM=$(MEM) (MiB) ACCEL=$(ACCEL) CC=$(CC) CMDLINE="$(CMDLINE)"'

include tools/tools.mk
include tests/tests.mk
include tests/exhibits.mk
