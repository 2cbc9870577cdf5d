/* ref_ozaki.h - the Ozaki family in plain C: fixed-point operands, what each scheme makes of their
 * product, and how far that can be from the exact one. */
#ifndef REF_OZAKI_H
#define REF_OZAKI_H

#include <stdbool.h>

#include "ref.h"

typedef enum { REF_RESIDUES, REF_INT8_SLICES, REF_FLOAT_SLICES } ref_scheme;

typedef struct {
    ref_scheme scheme;
    /* of moduli or slices; 0: from the data, and elements that are not certified are repaired */
    int parameter;
    /* of residues: the product stands for a complex one (td_problem.is_paired) */
    bool is_complex;
} ref_ozaki;

/* What is known of a product besides C; by columns, m x n. */
typedef struct {
    int parameter;     /* the one that was used; 0 if nothing was multiplied */
    int64_t repaired;  /* elements; -1: the mode's definition does not say */
    bool *is_repaired; /* left by the scheme ... */
    bool *in_binary64; /* ... and summed up in binary64: else exactly */
    /* the exact op(A) op(B) is at most so far from the scheme's, before any rounding of that; of an
     * element in binary64: what its sum loses below the range, beyond its rounding errors */
    long double *off;
} ref_account;

/* False if `mode` is none of the family. */
bool ref_ozaki_parse(const char *mode, ref_ozaki *ozaki);

/* The definition, bit for bit. With an account, which ref_account_free() frees. */
void ref_ozaki_product(const ref_ozaki *ozaki, const ref_gemm *p, ref_account *account);
void ref_account_free(ref_account *account);

/* The product of any mode, by its name; false if there is none of that name. */
bool ref_product(const char *mode, const ref_gemm *p);

#endif
