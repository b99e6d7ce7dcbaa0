# failure.gdb - goes on until the kernel finds a fault, and stops before it says so: `up` is the place.
# No stop before that: a machine that was stopped shares out the time among its CPUs in another way.

source tools/gdb/attach.gdb
hbreak panic
hbreak ktest_fail
continue
up
