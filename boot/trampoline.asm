; trampoline.asm - what an application processor executes first.
;
; A start-up IPI begins in real mode at the start of a page below 1 MiB (Intel SDM vol. 3A 8.4.4.1),
; so kernel/smp.c copies the first part there. It goes straight from real to long mode on the boot
; page tables (paging and protection set by one CR0 write), and on into the kernel's image, which
; those map at its physical address too.

%include "asm-offsets.inc"

%define PHYS(label) (label - KERNEL_BASE)

%define CR4_PAE   0x20
%define EFER_LME  0x100

extern boot_pml4, boot_gdt, ap_boot, ap_main

section .rodata
bits 16
global trampoline_start
trampoline_start:
	cli
	mov eax, CR4_PAE
	mov cr4, eax
	mov eax, PHYS(boot_pml4)
	mov cr3, eax
	mov ecx, MSR_EFER
	rdmsr
	or eax, EFER_LME
	wrmsr
	o32 lgdt [cs:gdtr - trampoline_start]
	mov eax, CR0_KERNEL
	mov cr0, eax
	jmp dword KERNEL_CS:PHYS(ap_long_mode)
gdtr:
	dw 2 * 8 - 1
	dd PHYS(boot_gdt)
global trampoline_end
trampoline_end:

section .text
bits 64
ap_long_mode:
	xor eax, eax
	mov ds, eax
	mov es, eax
	mov ss, eax
	mov rbx, ap_boot
	mov ecx, MSR_EFER
	mov eax, [rbx + AP_BOOT_EFER]               ; NXE: the kernel's page tables need it
	xor edx, edx
	wrmsr
	mov rax, [rbx + AP_BOOT_CR3]
	mov rdi, [rbx + AP_BOOT_CPU]
	mov rsp, [rbx + AP_BOOT_STACK_TOP]          ; mapped by that CR3 only
	mov rbx, .high
	jmp rbx                                     ; up to the linked addresses
.high:
	mov cr3, rax
	xor ebp, ebp                                ; ends backtraces
	cld
	call ap_main
	ud2
