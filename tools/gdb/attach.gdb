# attach.gdb - gdb's settings, the kernel's commands, and QEMU, which waits at its first instruction.
# tools/gdb/start sets $port before it reads this file.

set pagination off
set confirm off
set print pretty on

# Before attaching: QEMU answers with 64-bit registers from the start ("packet reply is too long").
set architecture i386:x86-64

source tools/gdb/gather.py
eval "target remote 127.0.0.1:%d", $port
