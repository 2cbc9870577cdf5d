/* dlsym_aarch64.S - the entrances that C cannot write, for 64-bit Arm: dlsym and dlvsym, which must
 * leave their caller's return address where it is, and the bound calls of lib/loader/originals.h.
 * hint 34 (bti c) is where processors that check branches let one come in; others pass it over. */
#include "../lib/loader/bound.h"

        .text

/* dlsym(handle, name), dlvsym(handle, name, version), dlopen(file, flags): asks a C function, which
 * has the caller's return address as a fourth argument, where the look-up goes on, and jumps there
 * with the arguments as they came. The dynamic linker knows by the return address, in x30, who
 * asks: RTLD_NEXT, RTLD_DEFAULT and the folders that are searched depend on it. */
        .macro  look_up name, route
        .hidden td_own_\name, \route
        .type   td_own_\name, %function
        .globl  td_own_\name
        .p2align 4
td_own_\name:
        .cfi_startproc
        hint    #34
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        stp     x0, x1, [sp, #16]
        str     x2, [sp, #32]
        mov     x29, sp
        mov     x3, x30
        bl      \route
        mov     x16, x0
        ldr     x2, [sp, #32]
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #48
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   td_own_\name, . - td_own_\name
        .endm

#include "dlsym_entrances.inc"

/* Entrance number i, TD_BOUND_BYTES bytes after the one before it. Numbers are below 2^16. */
        .globl  td_bound_entrances
        .hidden td_bound_entrances, td_bound_wrappers, td_bound_set
        .type   td_bound_entrances, %function
        .p2align 4
td_bound_entrances:
        .cfi_startproc
        .set    number, 1
        .rept   TD_MOST_LIBRARIES * TD_BOUND_STRIDE
        .org    td_bound_entrances + (number - 1) * TD_BOUND_BYTES
        hint    #34
        mov     w16, #number
        b       enter
        .set    number, number + 1
        .endr
        .p2align 4

/* The registers of a call's arguments, integers and floating-point numbers, and of the place for
 * its result, x8, are kept while td_bound_set runs. */
        .set    frame_bytes, 16 + 80 + 8 * 16
enter:
        stp     x29, x30, [sp, #-frame_bytes]!
        .cfi_def_cfa_offset frame_bytes
        .cfi_offset x29, -frame_bytes
        .cfi_offset x30, -frame_bytes + 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        stp     x8, x16, [sp, #80]
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        mov     w0, w16
        bl      td_bound_set
        ldp     q6, q7, [sp, #192]
        ldp     q4, q5, [sp, #160]
        ldp     q2, q3, [sp, #128]
        ldp     q0, q1, [sp, #96]
        ldp     x8, x16, [sp, #80]
        ldp     x6, x7, [sp, #64]
        ldp     x4, x5, [sp, #48]
        ldp     x2, x3, [sp, #32]
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #frame_bytes
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        adrp    x17, td_bound_wrappers
        add     x17, x17, :lo12:td_bound_wrappers
        add     x17, x17, x16, lsl #3
        ldr     x16, [x17, #-8]
        br      x16
        .cfi_endproc
        .size   td_bound_entrances, . - td_bound_entrances

        .section .note.GNU-stack, "", %progbits
