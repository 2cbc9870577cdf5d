/* api.c - the public functions of tandem.h: they check their arguments and run an engine. */
#include "../../include/tandem.h"

#include <math.h>

#include "../cuda/device.h"
#include "../engines/multifloat/engine.h"
#include "../engines/ozaki/typed.h"
#include "../call/process.h"
#include "../eigen/verify.h"
#include "../routine/real.h"
#include "../version.h"
#include "message.h"

const char *tandem_version(void) { return TD_VERSION; }

const char *tandem_status_text(tandem_status status)
{
    static const char *const texts[] = {
        [TANDEM_OK] = "success",
        [TANDEM_INVALID_VALUE] = "invalid value",
        [TANDEM_NO_MEMORY] = "not enough device memory",
        [TANDEM_UNSUPPORTED] = "unsupported by the device, or without cuBLAS",
        [TANDEM_LAUNCH_FAILED] = "kernel launch failed",
        [TANDEM_NOT_PROVEN] = "nothing is proven",
    };
    return (size_t)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}

static tandem_status refuse_size(const char *name, int64_t value)
{
    return td_fail(TANDEM_INVALID_VALUE, "%s is %lld; it must be at least 0", name,
                   (long long)value);
}

/* One matrix argument, rows x cols as stored. It may be NULL only if it is empty. */
typedef struct {
    const char *name, *ld_name;
    td_type type;
    const void *data;
    int64_t rows, cols, ld;
} argument;

static bool is_empty(const argument *x) { return x->rows == 0 || x->cols == 0; }

static tandem_status refuse_uncountable(const argument *x)
{
    return td_fail(TANDEM_UNSUPPORTED, "%s has %lld columns of %s %lld: no memory is so large",
                   x->name, (long long)x->cols, x->ld_name, (long long)x->ld);
}

static tandem_status check_matrix(const argument *x)
{
    const int64_t least = x->rows > 1 ? x->rows : 1;
    if (x->ld < least)
        return td_fail(TANDEM_INVALID_VALUE,
                       "%s is %lld; it must be at least max(1, rows of %s) = %lld", x->ld_name,
                       (long long)x->ld, x->name, (long long)least);
    if ((double)x->ld > TD_MOST_ELEMENTS) return refuse_uncountable(x);
    if (is_empty(x)) return TANDEM_OK;
    if ((double)x->cols * (double)x->ld > TD_MOST_ELEMENTS) return refuse_uncountable(x);
    if (!x->data)
        return td_fail(TANDEM_INVALID_VALUE, "%s is NULL; it must point to device memory", x->name);
    const int alignment = td_types[x->type].alignment;
    if ((uintptr_t)x->data % (uintptr_t)alignment)
        return td_fail(TANDEM_INVALID_VALUE, "%s is %p; it must be aligned to %d bytes", x->name,
                       x->data, alignment);
    return TANDEM_OK;
}

/* One after the other. */
static tandem_status check_matrices(const argument *x, int count)
{
    tandem_status status = TANDEM_OK;
    for (int i = 0; i < count && status == TANDEM_OK; i++) status = check_matrix(&x[i]);
    return status;
}

static uintptr_t end_of(const argument *x)
{
    const int64_t elements = (x->cols - 1) * x->ld + x->rows;
    return (uintptr_t)x->data + (uintptr_t)(elements * td_types[x->type].size);
}

/* True if two ranges first .. first + count - 1 and 0 .. limit - 1 share a number. */
static bool meet(int64_t first, int64_t count, int64_t limit)
{
    return first < limit && first + count > 0;
}

/* True if two matrices of the same type and leading dimension share an element: parts of one array
 * often lie side by side. */
static bool share_elements(const argument *c, const argument *x)
{
    const int size = td_types[c->type].size;
    const int64_t apart = (intptr_t)c->data - (intptr_t)x->data;
    if (apart % size != 0) return true;
    const int64_t row = (apart / size % c->ld + c->ld) % c->ld, col = (apart / size - row) / c->ld;
    if (row < x->rows && meet(col, c->cols, x->cols)) return true;
    return row + c->rows > c->ld &&
           meet(col + 1, c->cols, x->cols); /* c's last rows lie below, in the next column */
}

static tandem_status check_apart(const argument *c, const argument *x)
{
    if (is_empty(c) || is_empty(x)) return TANDEM_OK;
    if ((uintptr_t)c->data >= end_of(x) || (uintptr_t)x->data >= end_of(c)) return TANDEM_OK;
    if (c->type == x->type && c->ld == x->ld && !share_elements(c, x)) return TANDEM_OK;
    return td_fail(TANDEM_INVALID_VALUE, "%s at %p overlaps %s at %p; they must not share memory",
                   c->name, c->data, x->name, x->data);
}

static tandem_status check_op(const char *name, td_op op, td_type type)
{
    const bool is_complex = type == TD_COMPLEX_BINARY64;
    if (op == TD_OP_N || op == TD_OP_T || (op == TD_OP_C && is_complex)) return TANDEM_OK;
    return td_fail(TANDEM_INVALID_VALUE, "%s is %d; allowed: TANDEM_OP_N, TANDEM_OP_T%s", name,
                   (int)op, is_complex ? ", TANDEM_OP_C" : "");
}

static tandem_status check_product(const td_product *p)
{
    tandem_status status = check_op("op_a", p->op_a, p->type);
    if (status == TANDEM_OK) status = check_op("op_b", p->op_b, p->type);
    if (status != TANDEM_OK) return status;
    if (p->m < 0) return refuse_size("m", p->m);
    if (p->n < 0) return refuse_size("n", p->n);
    if (p->k < 0) return refuse_size("k", p->k);
    const bool a_n = p->op_a == TD_OP_N, b_n = p->op_b == TD_OP_N;
    const argument x[] = {
        {"a", "lda", p->type, p->a.data, a_n ? p->m : p->k, a_n ? p->k : p->m, p->a.ld},
        {"b", "ldb", p->type, p->b.data, b_n ? p->k : p->n, b_n ? p->n : p->k, p->b.ld},
        {"c", "ldc", p->type, p->c.data, p->m, p->n, p->c.ld}};
    status = check_matrices(x, 3);
    for (int i = 0; i < 2 && status == TANDEM_OK; i++) status = check_apart(&x[2], &x[i]);
    return status;
}

static tandem_status status_of(td_run_status run)
{
    switch (run) {
    case TD_RUN_DONE:
        return TANDEM_OK;
    case TD_RUN_NO_MEMORY:
        return td_fail(TANDEM_NO_MEMORY, "device memory does not suffice for the least workspace");
    case TD_RUN_NOT_CAPTURED:
        return td_fail(TANDEM_NO_MEMORY,
                       "there is no device memory that a captured product could keep");
    case TD_RUN_TOO_LARGE:
        return td_fail(TANDEM_UNSUPPORTED, "m, n or k is more than this arithmetic can count");
    case TD_RUN_NO_CUBLAS:
        return td_fail(TANDEM_UNSUPPORTED,
                       "this arithmetic needs cuBLAS, and the loader finds none that works");
    case TD_RUN_NO_STREAM:
        return td_fail(TANDEM_LAUNCH_FAILED, "the stream is none, or its capture has failed");
    case TD_RUN_UNREACHABLE:
        return td_fail(TANDEM_LAUNCH_FAILED,
                       "the current device cannot reach all of a, b, c and scalars");
    case TD_RUN_NO_PANELS: /* of factorisations alone, or of these and solves */
    case TD_RUN_UNALIGNED:
    case TD_RUN_WAITS:
    case TD_RUN_NOT_REFINED:
    case TD_RUN_FAILED:
    case TD_RUN_BROKEN:
        break;
    }
    return td_fail(TANDEM_LAUNCH_FAILED, "the device refused a kernel, or cuBLAS a product");
}

/* The current device; NULL if it cannot run kernels. */
static td_device *find_device(void)
{
    td_device *device = td_device_current();
    if (!device) td_fail(TANDEM_UNSUPPORTED, "the current device cannot run Tandem's kernels");
    return device;
}

/* The most device memory that a product may use at a time. */
static size_t limit_of(const td_device *device)
{
    return td_device_limit(device, td_options_in_force()->workspace);
}

/* A and B are never written. */
static td_matrix matrix_of(const void *data, int64_t ld)
{
    return (td_matrix){.data = (void *)(uintptr_t)data, .ld = ld};
}

/* Scalars are the caller's to set. */
static td_product product_of(td_type type, tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,
                             int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                             void *c, int64_t ldc, tandem_stream stream)
{
    return (td_product){
        .type = type,
        .op_a = (td_op)op_a,
        .op_b = (td_op)op_b,
        .m = m,
        .n = n,
        .k = k,
        .a = matrix_of(a, lda),
        .b = matrix_of(b, ldb),
        .c = matrix_of(c, ldc),
        .batch = 1,
        .stream = stream,
    };
}

/* allowed: which modes are. */
static tandem_status fail_of_mode(const char *mode, const char *allowed)
{
    if (!mode) return td_fail(TANDEM_INVALID_VALUE, "mode is NULL; allowed: %s", allowed);
    return td_fail(TANDEM_INVALID_VALUE, "mode is '%.200s'; allowed: %s", mode, allowed);
}

/* A product of binary64 numbers, real or complex. */
static tandem_status run_mode(const char *mode, const td_product *p)
{
    td_message_clear();
    td_parameter parameter;
    const td_engine *engine = mode ? td_engine_parse(mode, &parameter) : NULL;
    if (!engine || !engine->run)
        return fail_of_mode(mode, "the emulated modes that `tandem modes` lists");
    tandem_status status = check_product(p);
    if (status != TANDEM_OK || td_product_is_empty(p)) return status;
    td_device *device = find_device();
    if (!device) return TANDEM_UNSUPPORTED;
    return status_of(td_engine_run(engine, p, parameter, device, limit_of(device), NULL));
}

tandem_status tandem_dgemm(const char *mode, tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,
                           int64_t k, double alpha, const double *a, int64_t lda, const double *b,
                           int64_t ldb, double beta, double *c, int64_t ldc, tandem_stream stream)
{
    td_product p = product_of(TD_BINARY64, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc, stream);
    p.alpha.value.binary64 = alpha;
    p.beta.value.binary64 = beta;
    return run_mode(mode, &p);
}

static td_complex_binary64 complex_of(tandem_complex x)
{
    return (td_complex_binary64){.re = x.re, .im = x.im};
}

tandem_status tandem_zgemm(const char *mode, tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,
                           int64_t k, tandem_complex alpha, const tandem_complex *a, int64_t lda,
                           const tandem_complex *b, int64_t ldb, tandem_complex beta,
                           tandem_complex *c, int64_t ldc, tandem_stream stream)
{
    td_product p =
        product_of(TD_COMPLEX_BINARY64, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc, stream);
    p.alpha.value.complex_binary64 = complex_of(alpha);
    p.beta.value.complex_binary64 = complex_of(beta);
    return run_mode(mode, &p);
}

static tandem_status run_typed(const td_product *p, const td_format *format)
{
    td_message_clear();
    tandem_status status = check_product(p);
    if (status != TANDEM_OK || td_product_is_empty(p)) return status;
    td_device *device = find_device();
    if (!device) return TANDEM_UNSUPPORTED;
    const td_real_product real = td_real_product_of(p);
    return status_of(td_multifloat_run(&real, format, device, limit_of(device)));
}

static tandem_status check_conversion(td_type type, int64_t rows, int64_t cols, const double *a,
                                      int64_t lda, const void *s, int64_t lds)
{
    td_message_clear();
    if (rows < 0) return refuse_size("rows", rows);
    if (cols < 0) return refuse_size("cols", cols);
    const argument x[] = {{"a", "lda", TD_BINARY64, a, rows, cols, lda},
                          {"s", "lds", type, s, rows, cols, lds}};
    const tandem_status status = check_matrices(x, 2);
    return status == TANDEM_OK ? check_apart(&x[1], &x[0]) : status;
}

static tandem_status launched(cudaError_t error)
{
    if (td_cuda_ok(error)) return TANDEM_OK;
    return td_fail(TANDEM_LAUNCH_FAILED, "the device refused a kernel: %s",
                   cudaGetErrorString(error));
}

static tandem_status split(const td_typed *type, int64_t rows, int64_t cols, const double *a,
                           int64_t lda, void *s, int64_t lds, tandem_stream stream)
{
    tandem_status status = check_conversion(type->type, rows, cols, a, lda, s, lds);
    if (status != TANDEM_OK || rows == 0 || cols == 0) return status;
    const td_capture_mode mode = td_capture_allow(); /* the first launch loads */
    status = launched(type->split(rows, cols, a, lda, s, lds, stream));
    td_capture_restore(mode);
    return status;
}

static tandem_status join(const td_typed *type, int64_t rows, int64_t cols, const void *s,
                          int64_t lds, double *a, int64_t lda, tandem_stream stream)
{
    tandem_status status = check_conversion(type->type, rows, cols, a, lda, s, lds);
    if (status != TANDEM_OK || rows == 0 || cols == 0) return status;
    const td_capture_mode mode = td_capture_allow(); /* the first launch loads */
    status = launched(type->join(rows, cols, s, lds, a, lda, stream));
    td_capture_restore(mode);
    return status;
}

/* The functions of one type. */
#define TYPED_FUNCTIONS(x)                                                                         \
    tandem_status tandem_##x##_split(int64_t rows, int64_t cols, const double *a, int64_t lda,     \
                                     tandem_##x *s, int64_t lds, tandem_stream stream)             \
    {                                                                                              \
        return split(&td_typed_##x, rows, cols, a, lda, s, lds, stream);                           \
    }                                                                                              \
                                                                                                   \
    tandem_status tandem_##x##_join(int64_t rows, int64_t cols, const tandem_##x *s, int64_t lds,  \
                                    double *a, int64_t lda, tandem_stream stream)                  \
    {                                                                                              \
        return join(&td_typed_##x, rows, cols, s, lds, a, lda, stream);                            \
    }                                                                                              \
                                                                                                   \
    tandem_status tandem_##x##gemm(tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,           \
                                   int64_t k, tandem_##x alpha, const tandem_##x *a, int64_t lda,  \
                                   const tandem_##x *b, int64_t ldb, tandem_##x beta,              \
                                   tandem_##x *c, int64_t ldc, tandem_stream stream)               \
    {                                                                                              \
        td_product p =                                                                             \
            product_of(td_typed_##x.type, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc, stream);    \
        p.alpha.value.x = alpha;                                                                   \
        p.beta.value.x = beta;                                                                     \
        return run_typed(&p, td_typed_##x.format);                                                 \
    }

TYPED_FUNCTIONS(df)
TYPED_FUNCTIONS(ts)
TYPED_FUNCTIONS(dd)
TYPED_FUNCTIONS(ds)

tandem_status tandem_tsgemm_sliced(int slices, tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,
                                   int64_t k, tandem_ts alpha, const tandem_ts *a, int64_t lda,
                                   const tandem_ts *b, int64_t ldb, tandem_ts beta, tandem_ts *c,
                                   int64_t ldc, tandem_stream stream)
{
    td_message_clear();
    if (slices != 0 && (slices < TD_LEAST_SLICES || slices > TD_MOST_FLOAT_SLICES))
        return td_fail(TANDEM_INVALID_VALUE, "slices is %d; allowed: 0, %d to %d", slices,
                       TD_LEAST_SLICES, TD_MOST_FLOAT_SLICES);
    if (k <= 0 || alpha.x == 0.0f) /* no products: no slices */
        return tandem_tsgemm(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, stream);
    td_product p = product_of(TD_TS, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc, stream);
    p.alpha.value.ts = alpha;
    p.beta.value.ts = beta;
    tandem_status status = check_product(&p);
    if (status != TANDEM_OK || td_product_is_empty(&p)) return status;
    td_device *device = find_device();
    if (!device) return TANDEM_UNSUPPORTED;
    const td_real_product real = td_real_product_of(&p);
    return status_of(td_typed_slices_run(&real, slices, device, limit_of(device)));
}

/* ---- verified eigenvalues ---- */

/* The mode of a verification's products; NULL if it is not one of those. */
static const td_engine *verifying_engine(const char *mode, td_parameter *parameter)
{
    const td_engine *engine = mode ? td_engine_parse(mode, parameter) : NULL;
    if (engine == &td_engine_faithful || engine == &td_engine_native) return engine;
    (void)fail_of_mode(mode, "faithful, faithful:fp64, native");
    return NULL;
}

/* n numbers in host memory. */
static tandem_status check_result(const char *name, const void *result)
{
    if (result) return TANDEM_OK;
    return td_fail(TANDEM_INVALID_VALUE, "%s is NULL; it must point to host memory", name);
}

static tandem_status check_verification(const td_verification *v, int64_t n)
{
    if (n < 0) return refuse_size("n", n);
    const argument a = {"a", "lda", TD_BINARY64, v->a.data, n, n, v->a.ld},
                   b = {"b", "ldb", TD_BINARY64, v->b.data, n, n, v->b.ld},
                   x = {"x", "ldx", TD_BINARY64, v->x.data, n, n, v->x.ld},
                   d = {"d", "n", TD_BINARY64, v->d, n, 1, n > 0 ? n : 1};
    tandem_status status = check_matrix(&a);
    if (status == TANDEM_OK && v->b.data) status = check_matrix(&b);
    if (status == TANDEM_OK) status = check_matrix(&x);
    if (status == TANDEM_OK) status = check_matrix(&d);
    if (status == TANDEM_OK && n > INT32_MAX)
        status = td_fail(TANDEM_UNSUPPORTED, "n is %lld; at most %d can be verified", (long long)n,
                         (int)INT32_MAX);
    return status;
}

/* Faults are places of an n x n matrix, counted down its columns. */
static tandem_status check_faults(const char *name, const td_faults *faults, int n)
{
    const unsigned long long count = (unsigned long long)n, not_finite = faults->not_finite,
                             not_symmetric = faults->not_symmetric;
    if (not_finite != TD_NO_FAULT)
        return td_fail(TANDEM_INVALID_VALUE,
                       "%s(%d, %d) is NaN or infinite (rows and columns from 0)", name,
                       (int)(not_finite % count), (int)(not_finite / count));
    if (not_symmetric == TD_NO_FAULT) return TANDEM_OK;
    const int row = (int)(not_symmetric % count), col = (int)(not_symmetric / count);
    return td_fail(
        TANDEM_INVALID_VALUE,
        "%s(%d, %d) is not %s(%d, %d); the matrix must be symmetric (rows and columns from "
        "0)",
        name, row, col, name, col, row);
}

/* What the device has found in the input. */
static tandem_status check_input(const td_verified *verified)
{
    const td_eigen_measures *m = &verified->measures;
    tandem_status status = check_faults("a", &verified->faults_a, m->n);
    if (status == TANDEM_OK) status = check_faults("b", &verified->faults_b, m->n);
    for (int j = 0; j < m->n && status == TANDEM_OK; j++) {
        if (isnan(m->norm[TD_OF_X][j].squares))
            status = td_fail(TANDEM_INVALID_VALUE,
                             "column %d of x, from 0, has a NaN or an infinite element", j);
        if (!isfinite(m->d[j]))
            status = td_fail(TANDEM_INVALID_VALUE, "d[%d] is %g; it must be finite", j, m->d[j]);
    }
    return status;
}

static tandem_status find_bounds(const td_eigen_measures *m, double *lower, double *upper,
                                 int64_t *cluster)
{
    double gram = 0.0;
    switch (td_eigen_bounds_find(m, lower, upper, cluster, &gram)) {
    case TD_BOUNDS_FOUND:
        return TANDEM_OK;
    case TD_BOUNDS_NOT_INDEPENDENT:
        return td_fail(TANDEM_NOT_PROVEN,
                       "|X'%sX - I| is %g at most; it must be below 1: X is too far "
                       "from orthonormal%s",
                       m->has_b ? "B " : "", gram,
                       m->has_b ? ", or b is not positive definite" : "");
    case TD_BOUNDS_NOT_FINITE:
        return td_fail(TANDEM_NOT_PROVEN, "a product or a bound overflows");
    case TD_BOUNDS_NO_MEMORY:
        break;
    }
    return td_fail(TANDEM_NO_MEMORY, "there is no host memory for %d intervals", m->n);
}

tandem_status tandem_verify_symmetric(const char *mode, int64_t n, const double *a, int64_t lda,
                                      const double *b, int64_t ldb, const double *x, int64_t ldx,
                                      const double *d, double *lower, double *upper,
                                      int64_t *cluster, tandem_stream stream)
{
    td_message_clear();
    td_parameter parameter;
    const td_engine *engine = verifying_engine(mode, &parameter);
    if (!engine) return TANDEM_INVALID_VALUE;
    td_verification v = {.engine = engine,
                         .parameter = parameter,
                         .a = matrix_of(a, lda),
                         .b = matrix_of(b, ldb),
                         .x = matrix_of(x, ldx),
                         .d = d,
                         .stream = stream};
    tandem_status status = check_verification(&v, n);
    if (status != TANDEM_OK || n == 0) return status;
    status = check_result("lower", lower);
    if (status == TANDEM_OK) status = check_result("upper", upper);
    if (status == TANDEM_OK) status = check_result("cluster", cluster);
    if (status != TANDEM_OK) return status;
    if (td_stream_is_capturing(stream))
        return td_fail(TANDEM_UNSUPPORTED,
                       "the stream is being captured; a verification waits for it");
    v.device = find_device();
    if (!v.device) return TANDEM_UNSUPPORTED;
    v.n = (int)n;
    v.limit = limit_of(v.device);
    td_verified verified;
    status = status_of(td_verify_measure(&v, &verified));
    if (status != TANDEM_OK) return status;
    status = check_input(&verified);
    if (status == TANDEM_OK) status = find_bounds(&verified.measures, lower, upper, cluster);
    td_verified_free(&verified);
    return status;
}
