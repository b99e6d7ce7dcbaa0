# gather.gdb - attaches to a waiting QEMU and stops at the kernel's first 64-bit instruction.
# tools/gdb/start sets $port before it reads this file.

set pagination off
set confirm off
set print pretty on

# Before attaching: QEMU answers with 64-bit registers from the start ("packet reply is too long").
set architecture i386:x86-64

source tools/gdb/gather.py
eval "target remote 127.0.0.1:%d", $port

# Software breakpoints need the page tables that the boot code has yet to build.
hbreak entry64
continue
delete
