/* cublas_vector.c - vector, matrix-vector and the other matrix functions, for both real types. */
#include <math.h>

#include "cublas_internal.h"

#define REAL        double
#define LETTER      D
#define LETTER_TEXT "D"
#define LOWER       d
#define FABS        fabs
#include "cublas_vector_template.h"
#include "cublas_matrix_template.h"
#undef REAL
#undef LETTER
#undef LETTER_TEXT
#undef LOWER
#undef FABS

#define REAL        float
#define LETTER      S
#define LETTER_TEXT "S"
#define LOWER       s
#define FABS        fabsf
#include "cublas_vector_template.h"
#include "cublas_matrix_template.h"
