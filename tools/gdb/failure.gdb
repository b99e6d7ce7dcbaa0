# failure.gdb - goes on until the kernel finds a fault, and stops before it says so: `up` is the place.
hbreak panic
hbreak ktest_fail
continue
up
