/*
 * cpus.h - which CPUs this process may use, and pinning to one of them.
 */
#ifndef USER_LIB_CPUS_H
#define USER_LIB_CPUS_H

/* How many CPUs this thread may run on; 1 when the kernel does not say. */
unsigned int cpus_usable(void);

/* Takes a pin off again: children inherit it. Returns 0 or -1 (errno). */
int cpus_unpin(void);

/* Pins the calling thread to the index-th usable CPU, counting round. Returns 0 or -1 (errno). */
int cpus_pin(unsigned int index);

/* The processor's name, by CPUID; "" when it has none. */
#define CPU_MODEL_SIZE 49
void cpu_model(char model[CPU_MODEL_SIZE]);

#endif
