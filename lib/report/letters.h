/* letters.h - the letters that BLAS has for what is done to the operands of a call. Pure: no CUDA
 * calls. */
#ifndef TD_LETTERS_H
#define TD_LETTERS_H

/* Side (L or R), triangle (L or U), diagonal (U or N) and job (N or V, LAPACK's for eigenvalues
 * alone and for vectors, too) are 0 for routines without them. */
typedef struct {
    char side, triangle, diagonal, job;
    char op_a, op_b; /* N, T or C; R, as OpenBLAS has it: the conjugate, not transposed */
} td_letters;

enum { TD_LETTERS_BYTES = 7 };

typedef struct {
    char text[TD_LETTERS_BYTES];
} td_letters_text;

/* The letters that a routine takes as arguments, in the order of BLAS: what there is of job, side,
 * triangle, operations, of which it takes so many, and diagonal. */
td_letters_text td_letters_print(const td_letters *l, int operations);

#endif
