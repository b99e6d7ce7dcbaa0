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
%define EFLAGS_ID   0x200000

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

extern cpu_required

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
	call require_features
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

; All of cpu_required (arch/features.h), or one line with what is missing, and the end.
require_features:
	push ebx
	xor edi, edi                                ; how many are missing
	pushfd
	pop eax
	mov ecx, eax
	xor eax, EFLAGS_ID                          ; it can be changed where CPUID exists
	push eax
	popfd
	pushfd
	pop eax
	xor eax, ecx
	test eax, EFLAGS_ID
	jz .no_cpuid
	mov esi, PHYS(cpu_required)
.next:
	mov eax, [esi + REQUIRED_LEAF]
	test eax, eax
	jz .end
	and eax, 0x80000000
	cpuid                                       ; the highest leaf of that kind
	cmp eax, [esi + REQUIRED_LEAF]
	jb .missing
	mov eax, [esi + REQUIRED_LEAF]
	cpuid
	mov ecx, [esi + REQUIRED_BIT]
	bt edx, ecx
	jc .there
.missing:
	push esi
	add esi, REQUIRED_NAME
	call print_missing
	pop esi
.there:
	add esi, REQUIRED_SIZE
	jmp .next
.no_cpuid:
	mov esi, PHYS(message_cpuid)
	call print_missing
.end:
	test edi, edi
	jnz fail_start
	pop ebx
	ret

; esi: a name; edi counts.
print_missing:
	push esi
	test edi, edi
	jnz .name
	mov esi, PHYS(message_lacks)
	call print32
.name:
	inc edi
	mov esi, PHYS(message_space)
	call print32
	pop esi
	jmp print32

; Ends the run as drivers/exit.c does; a machine without that device halts.
fail_start:
	mov esi, PHYS(message_needs)
	call print32
	mov edx, DEBUG_EXIT_PORT
	mov eax, EXIT_PANIC
	out dx, eax
.halt:
	cli
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
message_lacks:        db 13, 10, "boot: this CPU lacks", 0
message_space:        db " ", 0
message_cpuid:        db "cpuid", 0
message_needs:        db ": Gather needs a 64-bit CPU with all of its features "
                      db "(docs/01-boot.md)", 13, 10, 0

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
