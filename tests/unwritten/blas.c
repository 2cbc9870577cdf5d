/* blas.c - drawn calls of cuBLAS: level 3, products in all their forms, groups of products. */
#include <cublas_v2.h>
#include <stdio.h>
#include <string.h>

#include "../preload/require.h"
#include "../soak/calls.h"
#include "drawn.h"

enum { MEMBERS = 3, GROUPS = 2 };

cublasHandle_t blas_handle;
static routine of;
static arguments x;

void blas_begin(void)
{
    REQUIRE(cublasCreate(&blas_handle));
    REQUIRE(cublasSetStream(blas_handle, drawn_stream));
}

void blas_lend(test_random *r)
{
    const size_t bytes = random_int(r, 0, 2) ? 0 : (size_t)random_int(r, 1, 1 << 22);
    if (bytes)
        REQUIRE(cublasSetWorkspace(blas_handle, add_work(bytes), bytes));
    else
        REQUIRE(cublasSetStream(blas_handle, drawn_stream)); /* which takes its own again */
}

static cublasOperation_t any_op(test_random *r)
{
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    return ops[random_int(r, 0, 2)];
}

/* Scalars on the host or the device: alpha, beta, and whether that is 0. */
static bool draw_scalars(test_random *r)
{
    static double host[4];
    const bool is_zero = random_int(r, 0, 1), on_device = random_int(r, 0, 1);
    host[0] = random_int(r, 0, 1) ? 1.0 : random_uniform(r) - 0.5;
    host[1] = of.is_complex ? random_uniform(r) : 0.0;
    host[2] = is_zero ? 0.0 : random_int(r, 0, 1) ? 1.0 : random_uniform(r) - 0.5;
    host[3] = 0.0;
    char *at = (char *)host;
    if (on_device) {
        at = add_work(sizeof host);
        REQUIRE(cudaMemcpy(at, host, sizeof host, cudaMemcpyHostToDevice));
    }
    REQUIRE(cublasSetPointerMode(blas_handle, on_device ? CUBLAS_POINTER_MODE_DEVICE
                                                        : CUBLAS_POINTER_MODE_HOST));
    x.alpha = at;
    x.beta = at + 2 * sizeof *host;
    return is_zero;
}

static int run_routine(void) { return (int)call_routine(&of, &x); }

/* What operands of each shape look like: so many rows and columns of a, b and c, what of them is
 * read, and what of c is written. */
typedef struct {
    int rows[3], columns[3];
    part in[3], out;
} layout;

static layout layout_of_call(bool beta_is_zero)
{
    const bool a_is_plain = x.op_a == CUBLAS_OP_N, b_is_plain = x.op_b == CUBLAS_OP_N;
    const part triangle = triangle_of(x.fill), of_c = beta_is_zero ? NOTHING : ALL;
    const int order = x.side == CUBLAS_SIDE_LEFT ? x.m : x.n;
    const int lines = a_is_plain ? x.n : x.k, along = a_is_plain ? x.k : x.n;
    switch (of.shape) {
    case RANK_K:
        return (layout){{lines, lines, x.n},
                        {along, along, x.n},
                        {ALL, ALL, beta_is_zero ? NOTHING : triangle},
                        triangle};
    case ONE_SIDE:
        return (layout){{order, x.m, x.m},
                        {order, x.n, x.n},
                        {triangle, ALL, of.level3->kind == TRMM ? NOTHING : of_c},
                        ALL};
    case SOLVED:
        return (layout){{order, 1, x.m}, {order, 1, x.n}, {triangle, NOTHING, ALL}, ALL};
    default:
        return (layout){{a_is_plain ? x.m : x.k, b_is_plain ? x.k : x.n, x.m},
                        {a_is_plain ? x.k : x.m, b_is_plain ? x.n : x.k, x.n},
                        {ALL, ALL, of_c},
                        ALL};
    }
}

static int most_of(const int *sizes)
{
    int most = 1;
    for (int i = 0; i < 3; i++) most = sizes[i] > most ? sizes[i] : most;
    return most;
}

/* All three matrices have the same leading dimension, and the same distance of members. */
static void place_operands(test_random *r, const layout *l, int members)
{
    const element_type type = of.is_complex ? COMPLEX : REAL;
    const int columns = most_of(l->columns);
    matrix *m[3];
    x.ld = most_of(l->rows) + random_int(r, 0, 5);
    x.stride = (long long)x.ld * columns + 1;
    for (int i = 0; i < 3; i++) {
        numbers n = any_numbers(r);
        n.is_small = of.shape == SOLVED && i == 0;
        m[i] = add_matrix(r, type, l->rows[i], l->columns[i], x.ld, members, x.stride, l->in[i],
                          i == 2 ? l->out : NOTHING, n);
    }
    x.a = m[0]->at;
    x.b = m[1]->at;
    x.c = m[2]->at;
    x.a_array = (const void *const *)m[0]->array;
    x.b_array = (const void *const *)m[1]->array;
    x.c_array = m[2]->array;
}

static void draw_routine(test_random *r, drawn_call *call)
{
    of = routine_at(random_int(r, 0, ROUTINES - 1));
    const int members = of.shape == BATCHED ? random_int(r, 1, MEMBERS) : 1;
    x = (arguments){.handle = blas_handle,
                    .op_a = any_op(r),
                    .op_b = any_op(r),
                    .side = random_int(r, 0, 1) ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT,
                    .fill = random_int(r, 0, 1) ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER,
                    .diag = random_int(r, 0, 1) ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT,
                    .m = any_size(r),
                    .n = any_size(r),
                    .k = any_size(r),
                    .batch = members};
    if (of.shape == RANK_K && x.op_a != CUBLAS_OP_N) x.op_a = of.transpose;
    const bool beta_is_zero = draw_scalars(r);
    const layout l = layout_of_call(beta_is_zero);
    place_operands(r, &l, members);
    call->run = run_routine;
    snprintf(call->text, sizeof call->text,
             "%s %s m %d n %d k %d ld %d ops %d %d side %d fill %d "
             "diag %d members %d beta 0 %d",
             of.name, of.is_complex ? "complex" : "real", x.m, x.n, x.k, x.ld, (int)x.op_a,
             (int)x.op_b, (int)x.side, (int)x.fill, (int)x.diag, members, beta_is_zero);
}

/* ---- groups ---- */

static struct {
    cublasOperation_t op_a[GROUPS], op_b[GROUPS];
    int m[GROUPS], n[GROUPS], k[GROUPS], ld[GROUPS], size[GROUPS];
    double alpha[GROUPS], beta[GROUPS];
    void *array[3][GROUPS * MEMBERS]; /* as in device memory */
    void **on_device;
} groups;

static int run_groups(void)
{
    void **const a = groups.on_device, **const b = a + sizeof groups.array[0] / sizeof *a,
                 **const c = b + sizeof groups.array[1] / sizeof *b;
    return (int)cublasDgemmGroupedBatched(
        blas_handle, groups.op_a, groups.op_b, groups.m, groups.n, groups.k, groups.alpha,
        (const double *const *)a, groups.ld, (const double *const *)b, groups.ld, groups.beta,
        (double *const *)c, groups.ld, GROUPS, groups.size);
}

/* Operands of group g, whose first member is the z-th of all. */
static int place_group(test_random *r, int g, int z)
{
    const bool a_is_plain = groups.op_a[g] == CUBLAS_OP_N,
               b_is_plain = groups.op_b[g] == CUBLAS_OP_N;
    const int m = groups.m[g], n = groups.n[g], k = groups.k[g];
    const int rows[] = {a_is_plain ? m : k, b_is_plain ? k : n, m},
              columns[] = {a_is_plain ? k : m, b_is_plain ? n : k, n};
    groups.ld[g] = most_of(rows) + random_int(r, 0, 3);
    for (int i = 0; i < 3; i++) {
        const part in = i < 2 || groups.beta[g] != 0.0 ? ALL : NOTHING;
        const matrix *const x_i = add_matrix(r, REAL, rows[i], columns[i], groups.ld[g],
                                             groups.size[g], (int64_t)groups.ld[g] * columns[i], in,
                                             i == 2 ? ALL : NOTHING, any_numbers(r));
        for (int j = 0; j < groups.size[g]; j++)
            groups.array[i][z + j] = x_i->at + (size_t)(j * x_i->stride) * sizeof(double);
    }
    return z + groups.size[g];
}

static void draw_groups(test_random *r, drawn_call *call)
{
    int z = 0;
    for (int g = 0; g < GROUPS; g++) {
        groups.op_a[g] = any_op(r);
        groups.op_b[g] = any_op(r);
        groups.m[g] = any_size(r);
        groups.n[g] = any_size(r);
        groups.k[g] = any_size(r);
        groups.size[g] = random_int(r, 1, MEMBERS);
        groups.alpha[g] = 1.0 + g;
        groups.beta[g] = random_int(r, 0, 1);
        z = place_group(r, g, z);
    }
    groups.on_device = add_work(sizeof groups.array);
    REQUIRE(
        cudaMemcpy(groups.on_device, groups.array, sizeof groups.array, cudaMemcpyHostToDevice));
    REQUIRE(cublasSetPointerMode(blas_handle, CUBLAS_POINTER_MODE_HOST));
    call->run = run_groups;
    snprintf(call->text, sizeof call->text,
             "DgemmGroupedBatched %d x %d x %d times %d, %d x %d x %d times %d", groups.m[0],
             groups.n[0], groups.k[0], groups.size[0], groups.m[1], groups.n[1], groups.k[1],
             groups.size[1]);
}

void blas_draw(test_random *r, drawn_call *call)
{
    if (random_int(r, 0, 19))
        draw_routine(r, call);
    else
        draw_groups(r, call);
}
