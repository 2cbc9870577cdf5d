#include "ref_lu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPECIAL = 1 << 20 };

typedef struct {
    void *at;
    int ld;
    bool is_complex;
} ref_matrix;

/* The bits of a number that is not negative, from the top; and, of the shortened ones, none but
 * zero is 0. */
static unsigned float_high(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static unsigned float_low(float x) { return (void)x, 0; }
static unsigned float_shortened(unsigned bits) { return (bits + 3) >> 2; }

static uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static unsigned double_high(double x) { return (unsigned)(double_bits(x) >> 32); }
static unsigned double_low(double x) { return (unsigned)double_bits(x); }
static unsigned double_shortened(unsigned bits) { return (bits >> 5) + 1; }

#define REAL_SQUARES_FROM 0x1p-100f
#define REAL_SQUARES_TO   0x1p120f
#define REAL_HUGE_FROM    0x1p58f
#define REAL_HUGE_SHIFT   4
#define REAL              float
#define REAL_FMA          fmaf
#define REAL_ABS          fabsf
#define REAL_LEAST        0x1p-126f
#define SAFE              120
#define SHIFT             60
#define float_matrix      ref_matrix
#define double_matrix     ref_matrix
#define REF(name)         float_##name
#include "ref_lu_tmpl.h"
#undef REAL
#undef REAL_FMA
#undef REAL_ABS
#undef REAL_LEAST
#undef SAFE
#undef SHIFT
#undef REF
#undef REAL_SQUARES_FROM
#undef REAL_SQUARES_TO
#undef REAL_HUGE_FROM
#undef REAL_HUGE_SHIFT

#define REAL_SQUARES_FROM 0x1p-1000
#define REAL_SQUARES_TO   0x1p1000
#define REAL_HUGE_FROM    0x1p498
#define REAL_HUGE_SHIFT   5
#define REAL              double
#define REAL_FMA          fma
#define REAL_ABS          fabs
#define REAL_LEAST        0x1p-1022
#define SAFE              1000
#define SHIFT             500
#define REF(name)         double_##name
#include "ref_lu_tmpl.h"

static bool is_complex(ref_lu_type type) { return type >= REF_LU_C; }
static bool is_double(ref_lu_type type) { return type == REF_LU_D || type == REF_LU_Z; }

int ref_lu_factor(ref_lu_type type, int n, void *a, int lda, int *pivots)
{
    const ref_matrix m = {a, lda, is_complex(type)};
    return is_double(type) ? double_factor(&m, n, pivots) : float_factor(&m, n, pivots);
}

void ref_lu_solve_triangle(const ref_lu_triangle *t)
{
    if (is_double(t->type))
        double_solve_triangle(t, is_complex(t->type));
    else
        float_solve_triangle(t, is_complex(t->type));
}

static void swap_rows(ref_lu_type type, int columns, void *b, int ldb, int i, int k)
{
    const ref_matrix m = {b, ldb, is_complex(type)};
    if (is_double(type))
        double_swap_rows(&m, columns, i, k);
    else
        float_swap_rows(&m, columns, i, k);
}

static void solve_factor(ref_lu_type type, ref_lu_op op, bool is_upper, int n, const void *factors,
                         int lda, int vectors, void *b, int ldb, bool is_inverse)
{
    ref_lu_solve_triangle(&(ref_lu_triangle){
        .type = type,
        .op = op,
        .is_upper = is_upper,
        .is_unit = !is_upper,
        .n = n,
        .vectors = vectors,
        .a = factors,
        .lda = lda,
        .b = b,
        .ldb = ldb,
        .alpha_re = 1.0,
        .start_of_32 = is_inverse && !is_upper,
    });
}

void ref_lu_solve(ref_lu_type type, ref_lu_op op, int n, const void *factors, int lda,
                  const int *pivots, int vectors, void *b, int ldb)
{
    for (int j = 0; op == REF_LU_OP_N && pivots && j < n; j++)
        swap_rows(type, vectors, b, ldb, j, pivots[j] - 1);
    for (int pass = 0; pass < 2; pass++)
        solve_factor(type, op, (pass == 0) != (op == REF_LU_OP_N), n, factors, lda, vectors, b, ldb,
                     false);
    for (int j = n - 1; op != REF_LU_OP_N && pivots && j >= 0; j--)
        swap_rows(type, vectors, b, ldb, j, pivots[j] - 1);
}

void ref_lu_invert(ref_lu_type type, int n, const void *factors, int lda, const int *pivots,
                   void *c, int ldc)
{
    const size_t bytes = (is_double(type) ? 8u : 4u) * (is_complex(type) ? 2u : 1u);
    const double one = 1.0;
    const float one_float = 1.0f;
    const size_t width = is_double(type) ? 8 : 4;
    for (int j = 0; j < n; j++) {
        char *column = (char *)c + (size_t)j * (size_t)ldc * bytes;
        memset(column, 0, (size_t)n * bytes);
        memcpy(column + (size_t)j * bytes, width == 8 ? (const void *)&one : &one_float, width);
    }
    for (int pass = 0; pass < 2; pass++)
        solve_factor(type, REF_LU_OP_N, pass == 1, n, factors, lda, n, c, ldc, true);
    char *spare = malloc((size_t)n * bytes);
    for (int j = n - 1; spare && pivots && j >= 0;
         j--) { /* columns by the interchanges, the last one first */
        char *x = (char *)c + (size_t)j * (size_t)ldc * bytes;
        char *y = (char *)c + (size_t)(pivots[j] - 1) * (size_t)ldc * bytes;
        memcpy(spare, x, (size_t)n * bytes);
        memmove(x, y, (size_t)n * bytes);
        memcpy(y, spare, (size_t)n * bytes);
    }
    free(spare);
}
