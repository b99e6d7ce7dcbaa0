# gather.gdb - attaches to a waiting QEMU and stops at the kernel's first 64-bit instruction.

source tools/gdb/attach.gdb

# Software breakpoints need the page tables that the boot code has yet to build.
hbreak entry64
continue
delete
