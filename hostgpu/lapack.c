/* lapack.c - the tables of OpenBLAS's LAPACK for the four types. */
#include "lapack.h"

#include <complex.h>
#include <stdlib.h>

#include "blas.h"

int *hostgpu_identity_pivots(int n)
{
    int *pivots = malloc((size_t)(n > 0 ? n : 1) * sizeof *pivots);
    for (int i = 0; pivots && i < n; i++) pivots[i] = i + 1;
    return pivots;
}

#define IS_COMPLEX      0
#define UNITARY(name)   JOIN_FOUR(LOWER, or, name, _)
#define HERMITIAN(name) JOIN_FOUR(LOWER, sy, name, _)

#define ELEMENT   float
#define WIDE      double
#define REAL      float
#define LETTER    S
#define LOWER     s
#define TYPE      CUDA_R_32F
#define REAL_TYPE CUDA_R_32F
#include "lapack_template.h"

#define ELEMENT   double
#define WIDE      double
#define REAL      double
#define LETTER    D
#define LOWER     d
#define TYPE      CUDA_R_64F
#define REAL_TYPE CUDA_R_64F
#include "lapack_template.h"

#undef IS_COMPLEX
#undef UNITARY
#undef HERMITIAN
#define IS_COMPLEX      1
#define UNITARY(name)   JOIN_FOUR(LOWER, un, name, _)
#define HERMITIAN(name) JOIN_FOUR(LOWER, he, name, _)

#define ELEMENT   float complex
#define WIDE      double complex
#define REAL      float
#define LETTER    C
#define LOWER     c
#define TYPE      CUDA_C_32F
#define REAL_TYPE CUDA_R_32F
#include "lapack_template.h"

#define ELEMENT   double complex
#define WIDE      double complex
#define REAL      double
#define LETTER    Z
#define LOWER     z
#define TYPE      CUDA_C_64F
#define REAL_TYPE CUDA_R_64F
#include "lapack_template.h"
