/* routines.h - the routines of cuBLAS, cublasLt, cublasXt and cuSOLVER, as routines.def lists them:
 * what those compute that Tandem makes, and why cuBLAS's other FP64 ones stay native. For `tandem
 * doctor --entries` and docs/entries.md; a test compares them with the toolkit's headers. */
#ifndef TD_ROUTINES_H
#define TD_ROUTINES_H

#include "problem.h"

/* X(cause, text): why a routine stays native. */
#define TD_CAUSES(X)                                                                               \
    X(factors, "QR factors and least squares of small matrices: Tandem has kernels for LU alone")  \
    X(packed, "a packed triangle, which no kernel of Tandem reads")                                \
    X(matrix_vector, "a matrix and vectors: limited by memory, so that no arithmetic is faster")   \
    X(vector, "vectors: limited by memory, so that no arithmetic is faster")                       \
    X(elements, "moves, adds or scales elements: no product")

#define TD_CAUSE_ENUM(cause, text) TD_CAUSE_##cause,
typedef enum { TD_CAUSES(TD_CAUSE_ENUM) TD_CAUSE_COUNT } td_cause;
#undef TD_CAUSE_ENUM

extern const char *const td_causes[TD_CAUSE_COUNT];

#define ROUTINE(name, ...) TD_ROUTINE_##name,
#define NATIVE(name, ...)  TD_ROUTINE_##name,
typedef enum {
#include "routines.def"
    TD_ROUTINE_COUNT
} td_routine_id;

typedef struct {
    const char *name;            /* of the library's functions, but for their suffixes */
    const char *const *suffixes; /* end with NULL */
    td_cause cause;              /* why it stays native; TD_CAUSE_COUNT: Tandem makes it */

    /* What it computes, of one that Tandem makes. */
    td_kind kind;
    td_type type; /* TD_TYPE_COUNT: it is among the arguments */
    bool is_hermitian;
} td_routine;

extern const td_routine td_routines[TD_ROUTINE_COUNT];

/* A function's or routine's name without that of its library: "Dgemm_v2", "Dgetrf". */
const char *td_name_in_library(const char *function);

#endif
