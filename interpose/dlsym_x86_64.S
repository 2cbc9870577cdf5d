/* dlsym_x86_64.S - the entrances that C cannot write, for x86-64: dlsym and dlvsym, which must leave
 * their caller's return address where it is, and the bound calls of lib/loader/originals.h. */
#include "../lib/loader/bound.h"

        .text

/* dlsym(handle, name), dlvsym(handle, name, version), dlopen(file, flags): asks a C function, which
 * has the caller's return address as a fourth argument, where the look-up goes on, and jumps there
 * with the arguments as they came. The dynamic linker knows by the return address who asks:
 * RTLD_NEXT, RTLD_DEFAULT and the folders that are searched depend on it. */
        .macro  look_up name, route
        .hidden td_own_\name, \route
        .type   td_own_\name, @function
        .globl  td_own_\name
        .p2align 4
td_own_\name:
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        movq    24(%rsp), %rcx
        call    \route
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   td_own_\name, . - td_own_\name
        .endm

#include "dlsym_entrances.inc"

/* Entrance number i, TD_BOUND_BYTES bytes after the one before it. */
        .globl  td_bound_entrances
        .hidden td_bound_entrances, td_bound_wrappers, td_bound_set
        .type   td_bound_entrances, @function
        .p2align 4
td_bound_entrances:
        .cfi_startproc
        .set    number, 1
        .rept   TD_MOST_LIBRARIES * TD_BOUND_STRIDE
        .org    td_bound_entrances + (number - 1) * TD_BOUND_BYTES
        endbr64
        movl    $number, %r11d
        jmp     enter
        .set    number, number + 1
        .endr
        .p2align 4

/* The registers of a call's first arguments, integers and floating-point numbers, are kept while
 * td_bound_set runs. On entry the stack is 8 bytes off a multiple of 16. */
        .set    vector_bytes, 8 * 16
enter:
        .irp    register, rdi, rsi, rdx, rcx, r8, r9, r11
        pushq   %\register
        .cfi_adjust_cfa_offset 8
        .endr
        subq    $vector_bytes, %rsp
        .cfi_adjust_cfa_offset vector_bytes
        .irp    i, 0, 1, 2, 3, 4, 5, 6, 7
        movaps  %xmm\i, 16 * \i(%rsp)
        .endr
        movl    %r11d, %edi
        call    td_bound_set
        .irp    i, 0, 1, 2, 3, 4, 5, 6, 7
        movaps  16 * \i(%rsp), %xmm\i
        .endr
        addq    $vector_bytes, %rsp
        .cfi_adjust_cfa_offset -vector_bytes
        .irp    register, r11, r9, r8, rcx, rdx, rsi, rdi
        popq    %\register
        .cfi_adjust_cfa_offset -8
        .endr
        leaq    td_bound_wrappers(%rip), %rax
        jmp     *-8(%rax,%r11,8)
        .cfi_endproc
        .size   td_bound_entrances, . - td_bound_entrances

        .section .note.GNU-stack, "", @progbits
