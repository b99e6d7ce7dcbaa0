; trampoline.asm - what an application processor executes first.
;
; A start-up IPI begins in real mode at the start of a page below 1 MiB (Intel SDM vol. 3A 8.4.4.1),
; so kernel/smp.c copies this code there. It runs wherever it is copied: every address is computed
; from CS. Straight from real to long mode on the boot page tables (paging and protection set by one
; CR0 write).

%include "asm-offsets.inc"

%define AT(label) (label - trampoline_start)

%define CR4_PAE   0x20
%define CR0_BOOT  0x80010033                    ; PG WP NE ET MP PE; clears CD and NW

section .rodata
bits 16
global trampoline_start
trampoline_start:
	cli
	cld
	xor eax, eax
	mov ax, cs
	mov ds, ax
	shl eax, 4
	mov ebx, eax                                ; physical address of this page

	lea eax, [ebx + AT(gdt)]
	mov [AT(gdtr) + 2], eax
	lea eax, [ebx + AT(long_mode)]
	mov [AT(far_pointer)], eax

	mov eax, CR4_PAE
	mov cr4, eax
	mov eax, [AT(trampoline_args) + TRAMPOLINE_BOOT_CR3]
	mov cr3, eax
	mov ecx, MSR_EFER
	rdmsr
	or eax, [AT(trampoline_args) + TRAMPOLINE_EFER]
	wrmsr
	o32 lgdt [AT(gdtr)]
	mov eax, CR0_BOOT
	mov cr0, eax
	jmp far dword [AT(far_pointer)]

bits 64
long_mode:
	xor eax, eax
	mov ds, eax
	mov es, eax
	mov ss, eax
	mov rdi, [rel trampoline_args + TRAMPOLINE_CPU]
	mov rsi, [rel trampoline_args + TRAMPOLINE_KERNEL_CR3]
	mov rdx, [rel trampoline_args + TRAMPOLINE_STACK_TOP]
	jmp [rel trampoline_args + TRAMPOLINE_ENTRY]

align 16
gdt:
	dq 0
	dq 0x00af9b000000ffff                       ; KERNEL_CS: 64-bit code
gdt_end:
gdtr:
	dw gdt_end - gdt - 1
	dd 0
far_pointer:
	dd 0
	dw KERNEL_CS

align 16
global trampoline_args
trampoline_args:
	times TRAMPOLINE_ARGS_SIZE db 0
global trampoline_end
trampoline_end:
