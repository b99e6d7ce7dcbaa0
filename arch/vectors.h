/*
 * vectors.h - the interrupt vectors. A higher number is a higher LAPIC priority (SDM vol. 3A
 * 10.8.3).
 */
#pragma once

#define VEC_NMI           2
#define VEC_DOUBLE_FAULT  8
#define VEC_GP            13
#define VEC_PAGE_FAULT    14
#define VEC_MACHINE_CHECK 18
#define NR_EXCEPTIONS     32

#define VEC_SERIAL   0x40
#define VEC_TIMER    0xE0
#define VEC_RESCHED  0xF0
#define VEC_TLB      0xF1
#define VEC_SPURIOUS 0xFF

#define NR_VECTORS  256
#define VEC_SYSCALL 0x100 /* what a trap frame made by SYSCALL carries; not a real vector */
