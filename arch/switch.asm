; switch.asm - from one kernel stack to another.
bits 64
section .text

extern thread_entered

; struct thread *arch_switch_stack(u64 *save_rsp (rdi), u64 load_rsp (rsi), struct thread *prev (rdx))
; Interrupts are off and stay off. Only what the C calling convention lets a callee keep is saved.
global arch_switch_stack
arch_switch_stack:
	push	rbp
	push	rbx
	push	r12
	push	r13
	push	r14
	push	r15
	mov	[rdi], rsp
	mov	rsp, rsi
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rbx
	pop	rbp
	mov	rax, rdx
	ret

; A new thread starts here: rbx = fn, r12 = arg (laid out by arch_new_stack), rax = the thread left.
global thread_start_asm
thread_start_asm:
	xor	ebp, ebp		; ends backtraces
	mov	rdi, rax
	call	thread_entered
	mov	rdi, r12
	call	rbx
	ud2				; fn never returns
