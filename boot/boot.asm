; boot.asm - from the boot loader's 32-bit protected mode to kernel_main in long mode.
;
; Multiboot2 3.2: paging off, interrupts off, flat segments, eax = magic, ebx = information
; structure. Builds the boot page tables: identity and direct map of the first 4 GiB, the image at
; KERNEL_BASE. They stay as they are: application processors start on them too.
; Each stage prints a word on COM1, so that a machine that hangs tells where.

%include "asm-offsets.inc"

%define PHYS(label) (label - KERNEL_BASE)
%define COM1        0x3f8
%define COM1_LSR    (COM1 + 5)
%define LSR_THRE    0x20

%define PTE_PRESENT 0x001
%define PTE_WRITE   0x002
%define PDE_HUGE    0x080

%define CR4_PAE     0x20
%define EFER_LME    0x100

section .multiboot2
align 8
multiboot2_header:
	dd 0xe85250d6                               ; magic
	dd 0                                        ; i386 protected mode
	dd multiboot2_header_end - multiboot2_header
	dd 0x100000000 - (0xe85250d6 + (multiboot2_header_end - multiboot2_header))

	align 8
	dw 1, 1                                     ; information request, optional
	dd 8 + 6 * 4
	dd 1, 2, 3, 6, 14, 15                       ; cmdline, loader, modules, memory map, ACPI
	align 8
	dw 6, 0                                     ; modules start on pages
	dd 8
	align 8
	dw 0, 0                                     ; end
	dd 8
multiboot2_header_end:

; The other loader: QEMU's -kernel reads this note and enters at pvh_start, ebx = start information.
section .note.pvh note alloc noexec nowrite align=4
	dd 4, 4, 18                                 ; sizes of name and value, XEN_ELFNOTE_PHYS32_ENTRY
	db "Xen", 0
	dd PHYS(pvh_start)

section .text
bits 32
pvh_start:
	mov eax, 0x336ec578                         ; PVH_MAGIC
global start
start:
	cli
	cld
	mov esp, PHYS(boot_stack_top)
	mov ebp, eax                                ; magic; ebx: information structure
	mov esi, PHYS(message_start)
	call print32
	call require_long_mode
	call build_page_tables
	mov esi, PHYS(message_paging)
	call print32

	mov eax, CR4_PAE
	mov cr4, eax
	mov eax, PHYS(boot_pml4)
	mov cr3, eax
	mov ecx, MSR_EFER
	rdmsr
	or eax, EFER_LME
	wrmsr
	mov eax, CR0_KERNEL
	mov cr0, eax
	lgdt [PHYS(boot_gdtr)]
	jmp KERNEL_CS:PHYS(long_mode)

; esi: 0-terminated text. Bounded wait for the UART, which may not exist.
print32:
	lodsb
	test al, al
	jz .done
	mov ah, al
	mov ecx, 100000
	mov edx, COM1_LSR
.wait:
	pause
	in al, dx
	test al, LSR_THRE
	loopz .wait
	mov al, ah
	mov edx, COM1
	out dx, al
	jmp print32
.done:
	ret

require_long_mode:
	push ebx
	mov eax, 0x80000000
	cpuid
	cmp eax, 0x80000001
	jb .missing
	mov eax, 0x80000001
	cpuid
	bt edx, 29                                  ; LM
	jnc .missing
	pop ebx
	ret
.missing:
	mov esi, PHYS(message_no_long_mode)
	call print32
.halt:
	hlt
	jmp .halt

build_page_tables:
	mov edi, PHYS(boot_pd)                      ; 4 page directories of 2 MiB pages
	mov eax, PTE_PRESENT | PTE_WRITE | PDE_HUGE
	mov ecx, 4 * 512
	mov edx, 0x200000
	call fill_entries
	mov edi, PHYS(boot_pdpt)
	mov eax, PHYS(boot_pd) + (PTE_PRESENT | PTE_WRITE)
	mov ecx, 4
	mov edx, 0x1000
	call fill_entries

	mov dword [PHYS(boot_pdpt_kernel) + 510 * 8], PHYS(boot_pd) + (PTE_PRESENT | PTE_WRITE)
	mov eax, PHYS(boot_pdpt) + (PTE_PRESENT | PTE_WRITE)
	mov [PHYS(boot_pml4)], eax                  ; identity
	mov [PHYS(boot_pml4) + 256 * 8], eax        ; DIRECT_MAP_BASE
	mov dword [PHYS(boot_pml4) + 511 * 8], PHYS(boot_pdpt_kernel) + (PTE_PRESENT | PTE_WRITE)
	ret

; edi: table, eax: first entry, ecx: how many, edx: from one to the next.
fill_entries:
	mov [edi], eax
	add eax, edx
	add edi, 8
	loop fill_entries
	ret

bits 64
extern kernel_main
global entry64
long_mode:
	mov rax, entry64
	jmp rax                                     ; up to the linked addresses
entry64:
	xor eax, eax
	mov ds, eax
	mov es, eax
	mov fs, eax
	mov gs, eax
	mov ss, eax
	mov rsp, boot_stack_top
	mov edi, ebp
	mov esi, ebx
	xor ebp, ebp                                ; ends backtraces
	call kernel_main
.halt:
	cli
	hlt
	jmp .halt

section .rodata
message_start:        db 13, 10, "boot: protected mode", 0
message_paging:       db ", page tables", 0
message_no_long_mode: db 13, 10, "boot: this CPU has no 64-bit mode; Gather needs one "
                      db "(qemu-system-x86_64, not qemu-system-i386)", 13, 10, 0

align 16
global boot_gdt
boot_gdt:
	dq 0
	dq 0x00af9b000000ffff                       ; KERNEL_CS: 64-bit code
boot_gdtr:
	dw 2 * 8 - 1
	dd PHYS(boot_gdt)

section .bss
alignb 4096
global boot_pml4
boot_pml4:        resb 4096
boot_pdpt:        resb 4096
boot_pdpt_kernel: resb 4096
boot_pd:          resb 4 * 4096
boot_stack:       resb BOOT_STACK_SIZE
boot_stack_top:
