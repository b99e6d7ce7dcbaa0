; entry.asm - the ways into the kernel and the one way out. See arch/trap.h.
;
; Each entry leaves a struct trap_frame on the stack and passes its address in rdi. The CPU aligns
; the stack to 16 bytes before it pushes; the frame has 22 words, so the stack is aligned at each
; call.

%include "asm-offsets.inc"

extern trap_dispatch, trap_dispatch_ist, syscall_entry_c, cpu_features_smap

bits 64
section .text

; struct trap_frame from its end to its start.
%define REGISTERS rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15

%macro push_all 1-*
%rep %0
	push %1
%rotate 1
%endrep
%endmacro

%macro pop_all 1-*
%rep %0
%rotate -1
	pop %1
%endrep
%endmacro

; Interrupts inherit AC, which would leave SMAP off in the handler; IRETQ brings it back. CLAC is
; #UD without SMAP, hence the flag.
%macro close_user_access 0
	cmp byte [rel cpu_features_smap], 0
	je %%no_smap
	clac
%%no_smap:
%endmacro

; Makes the interrupted context the caller in the chain of frame pointers, for backtraces.
%macro link_frame 0
	push qword [rsp + TF_RIP]
	push rbp
	mov rbp, rsp
%endmacro

; ---- Exceptions and interrupts -----------------------------------------------------------------

; The stub of vector n is at isr_stubs + 16 * n. The CPU pushes an error code for these only
; (SDM vol. 3A 6.13):
%define HAS_ERROR_CODE(n) \
	(n == 8 || (n >= 10 && n <= 14) || n == 17 || n == 21 || n == 29 || n == 30)
%define IS_IST(n)         (n == 2 || n == 8 || n == 18)

align 16
global isr_stubs
isr_stubs:
%assign n 0
%rep NR_VECTORS
	align 16
%if !HAS_ERROR_CODE(n)
	push 0
%endif
	push strict dword n
%if IS_IST(n)
	jmp near ist_common
%else
	jmp near isr_common
%endif
%assign n n + 1
%endrep

align 16
isr_common:
	push_all REGISTERS
	cld
	close_user_access
	test byte [rsp + TF_CS], 3
	jz .from_kernel
	swapgs
.from_kernel:
	mov rdi, rsp
	link_frame
	call trap_dispatch
	lea rdi, [rsp + 16]

; rdi: struct trap_frame; interrupts off.
global trap_return
trap_return:
	mov rsp, rdi
	test byte [rsp + TF_CS], 3
	jz .to_kernel
	swapgs
.to_kernel:
	pop_all REGISTERS
	add rsp, 16                                 ; vector, error
	iretq

; #DF, NMI and #MC may strike between an entry and its SWAPGS, when CS says kernel and GS still
; is the user's. The kernel's GS base is a negative number, and user mode cannot set one.
align 16
ist_common:
	push_all REGISTERS
	cld
	close_user_access
	mov ecx, MSR_GS_BASE
	rdmsr
	xor ebx, ebx
	test edx, edx
	js .kernel_gs
	swapgs
	mov ebx, 1
.kernel_gs:
	mov rdi, rsp
	link_frame
	call trap_dispatch_ist
	add rsp, 16
	test ebx, ebx
	jz .done
	swapgs
.done:
	pop_all REGISTERS
	add rsp, 16
	iretq

; ---- System calls -------------------------------------------------------------------------------

; SYSCALL: rcx = user rip, r11 = user rflags, rflags masked by SFMASK (interrupts off, AC and DF
; clear), rsp still the user's (SDM vol. 2, SYSCALL).
align 16
global syscall_entry
syscall_entry:
	swapgs
	mov [gs:CPU_USER_RSP], rsp
	mov rsp, [gs:CPU_KSTACK_TOP]
	push USER_DS
	push qword [gs:CPU_USER_RSP]
	push r11
	push USER_CS
	push rcx
	push 0
	push VEC_SYSCALL
	push_all REGISTERS
	mov rdi, rsp
	link_frame
	call syscall_entry_c
	lea rdi, [rsp + 16]
	jmp trap_return
