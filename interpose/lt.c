/* lt.c - the wrapper of cublasLtMatmul. It reads the call's descriptors by cublasLt's own
 * functions and describes what is a product of real or complex binary64 matrices as a td_problem;
 * everything else goes to cublasLt. */
#include <cublasLt.h>

#include "wrap.h"

/* ---- descriptors ---- */

/* The functions that read them. */
typedef struct {
    __typeof__(&cublasLtMatmulDescGetAttribute) of_operation;
    __typeof__(&cublasLtMatrixLayoutGetAttribute) of_layout;
} readers;

static bool read_operation(const readers *r, cublasLtMatmulDesc_t from,
                           cublasLtMatmulDescAttributes_t which, void *value, size_t bytes)
{
    size_t written = 0;
    return r->of_operation(from, which, value, bytes, &written) == CUBLAS_STATUS_SUCCESS &&
           written == bytes;
}

static bool read_layout(const readers *r, cublasLtMatrixLayout_t from,
                        cublasLtMatrixLayoutAttribute_t which, void *value, size_t bytes)
{
    size_t written = 0;
    return r->of_layout(from, which, value, bytes, &written) == CUBLAS_STATUS_SUCCESS &&
           written == bytes;
}

/* What an operation asks for; all is 32 bits wide. */
typedef struct {
    int32_t compute, scale, pointer_mode, op_a, op_b, op_c, fill, epilogue;
} operation;

/* True if a pointer that only some types and epilogues have is set; a version that does not know
 * it has none. What says how cuBLAS emulates (CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR) changes no
 * product. */
static bool has_pointers(const readers *r, cublasLtMatmulDesc_t from)
{
    static const cublasLtMatmulDescAttributes_t pointers[] = {
        CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_AMAX_D_POINTER};
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        const void *value = NULL;
        if (read_operation(r, from, pointers[i], &value, sizeof value) && value) return true;
    }
    return false;
}

static bool is_operation(int32_t op)
{
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

/* What a type of cublasLt is here; TD_TYPE_COUNT: no type of Tandem's products. */
static td_type type_of(int32_t type)
{
    return type == CUDA_R_64F   ? TD_BINARY64
           : type == CUDA_C_64F ? TD_COMPLEX_BINARY64
                                : TD_TYPE_COUNT;
}

/* False unless it is a plain product in binary64, with scalars that are numbers. */
static bool read_product(const readers *r, cublasLtMatmulDesc_t from, operation *o)
{
    const struct {
        cublasLtMatmulDescAttributes_t which;
        int32_t *value;
    } fields[] = {{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &o->compute},
                  {CUBLASLT_MATMUL_DESC_SCALE_TYPE, &o->scale},
                  {CUBLASLT_MATMUL_DESC_POINTER_MODE, &o->pointer_mode},
                  {CUBLASLT_MATMUL_DESC_TRANSA, &o->op_a},
                  {CUBLASLT_MATMUL_DESC_TRANSB, &o->op_b},
                  {CUBLASLT_MATMUL_DESC_TRANSC, &o->op_c},
                  {CUBLASLT_MATMUL_DESC_FILL_MODE, &o->fill},
                  {CUBLASLT_MATMUL_DESC_EPILOGUE, &o->epilogue}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!read_operation(r, from, fields[i].which, fields[i].value, sizeof(int32_t)))
            return false;
        /* read first: most calls are others */
        if (o->compute != CUBLAS_COMPUTE_64F && !td_wrap_asks_emulation(o->compute)) return false;
    }
    return is_operation(o->op_a) && is_operation(o->op_b) && type_of(o->scale) != TD_TYPE_COUNT &&
           o->op_c == CUBLAS_OP_N && o->fill == CUBLAS_FILL_MODE_FULL &&
           o->epilogue == CUBLASLT_EPILOGUE_DEFAULT &&
           (o->pointer_mode == CUBLASLT_POINTER_MODE_HOST ||
            o->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE) &&
           !has_pointers(r, from);
}

/* A matrix as a layout describes it. */
typedef struct {
    uint64_t rows, columns;
    int64_t ld, stride;
    int32_t type, order, batch;
} layout;

/* False unless its numbers are of the scalars' type, and it lies in columns or rows, a stride apart
 * in a batch. */
static bool read_matrix(const readers *r, cublasLtMatrixLayout_t from, const operation *o,
                        layout *m)
{
    const struct {
        cublasLtMatrixLayoutAttribute_t which;
        void *value;
        size_t bytes;
    } fields[] = {{CUBLASLT_MATRIX_LAYOUT_TYPE, &m->type, sizeof m->type},
                  {CUBLASLT_MATRIX_LAYOUT_ORDER, &m->order, sizeof m->order},
                  {CUBLASLT_MATRIX_LAYOUT_ROWS, &m->rows, sizeof m->rows},
                  {CUBLASLT_MATRIX_LAYOUT_COLS, &m->columns, sizeof m->columns},
                  {CUBLASLT_MATRIX_LAYOUT_LD, &m->ld, sizeof m->ld},
                  {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &m->batch, sizeof m->batch},
                  {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m->stride, sizeof m->stride}};
    /* a version that does not know it has no other */
    int32_t batch_mode = CUBLASLT_BATCH_MODE_STRIDED;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!from || !read_layout(r, from, fields[i].which, fields[i].value, fields[i].bytes))
            return false;
    (void)read_layout(r, from, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &batch_mode, sizeof batch_mode);
    return m->type == o->scale && batch_mode == CUBLASLT_BATCH_MODE_STRIDED &&
           (m->order == CUBLASLT_ORDER_COL || m->order == CUBLASLT_ORDER_ROW);
}

/* ---- the product that they describe ---- */

static bool is_transposed(int32_t op) { return op != CUBLAS_OP_N; }

/* An operand as columns: rows are the columns of its transpose. */
typedef struct {
    td_matrix matrix;
    td_op op;
    bool is_conjugate;
} operand;

static td_matrix matrix_of(const void *data, const layout *m)
{
    return (td_matrix){.data = (void *)(uintptr_t)data, .ld = m->ld, .stride = m->stride};
}

static bool is_in_rows(const layout *m) { return m->order == CUBLASLT_ORDER_ROW; }

static operand operand_of(const void *data, const layout *m, int32_t op)
{
    const bool is_conjugate = op == CUBLAS_OP_C && type_of(m->type) == TD_COMPLEX_BINARY64;
    operand x = {.matrix = matrix_of(data, m)};
    if (is_transposed(op) != is_in_rows(m))
        x.op = is_conjugate ? TD_OP_C : TD_OP_T;
    else
        x.is_conjugate = is_conjugate;
    return x;
}

/* A product's operands with their layouts. */
typedef struct {
    const void *a, *b, *c;
    void *d;
    layout of_a, of_b, of_c, of_d;
} operands;

static bool is_apart(const layout *m)
{
    return m->ld >= (int64_t)(is_in_rows(m) ? m->columns : m->rows);
}

/* True if sizes and batches fit each other. */
static bool fit_together(const operation *o, const operands *x)
{
    const bool ta = is_transposed(o->op_a), tb = is_transposed(o->op_b);
    const uint64_t rows_a = ta ? x->of_a.columns : x->of_a.rows,
                   columns_a = ta ? x->of_a.rows : x->of_a.columns,
                   rows_b = tb ? x->of_b.columns : x->of_b.rows,
                   columns_b = tb ? x->of_b.rows : x->of_b.columns;
    const layout *c = &x->of_c, *d = &x->of_d;
    return rows_a == d->rows && columns_b == d->columns && columns_a == rows_b &&
           c->rows == d->rows && c->columns == d->columns && is_apart(c) &&
           x->of_a.batch == d->batch && x->of_b.batch == d->batch && c->batch == d->batch;
}

static td_problem describe(const operation *o, const operands *x)
{
    const operand a = operand_of(x->a, &x->of_a, o->op_a), b = operand_of(x->b, &x->of_b, o->op_b);
    return (td_problem){
        .kind = TD_PRODUCT,
        .type = type_of(o->scale),
        .op_a = a.op,
        .op_b = b.op,
        .is_conjugate_a = a.is_conjugate,
        .is_conjugate_b = b.is_conjugate,
        .m = (int64_t)x->of_d.rows,
        .n = (int64_t)x->of_d.columns,
        .k = (int64_t)(is_transposed(o->op_a) ? x->of_a.rows : x->of_a.columns),
        .a = a.matrix,
        .b = b.matrix,
        .c = matrix_of(x->d, &x->of_d),
        .c_in_rows = is_in_rows(&x->of_d),
        .addend = x->c != x->d ? matrix_of(x->c, &x->of_c) : (td_matrix){.data = NULL},
        .addend_in_rows = x->c != x->d && is_in_rows(&x->of_c),
        .batch = x->of_d.batch,
        .asks_emulation = td_wrap_asks_emulation(o->compute),
    };
}

/* True if the call is a product of binary64 matrices, with all of *p but scalars, stream and
 * workspace. */
static bool read_call(const readers *r, cublasLtMatmulDesc_t from,
                      const cublasLtMatrixLayout_t layouts[4], operands *x, operation *o,
                      td_problem *p)
{
    if (!r->of_operation || !r->of_layout || !from || !read_product(r, from, o) ||
        !read_matrix(r, layouts[0], o, &x->of_a) || !read_matrix(r, layouts[1], o, &x->of_b) ||
        !read_matrix(r, layouts[2], o, &x->of_c) || !read_matrix(r, layouts[3], o, &x->of_d) ||
        !fit_together(o, x))
        return false;
    *p = describe(o, x);
    return true;
}

/* True if beta multiplies what is not there: to a td_problem that would be D. */
static bool lacks_addend(const operands *x, const td_problem *p)
{
    return !x->c && !p->beta.device && td_scalar_counts(&p->beta, p->type);
}

/* ---- what no mode can do ---- */

/* Attributes of an operation that cuBLAS 13.10 has, and older headers have no names for. */
enum { ALPHA_BATCH_STRIDE = 39, BETA_BATCH_STRIDE = 40, BATCH_INVARIANCE_FLAGS = 41 };

/* Values of the last one by which nothing is asked for. */
enum { INVARIANCE_DISABLED = 0x0, INVARIANCE_UNSET = 0x8000 };

/* 0 in a version that does not know it. */
static int64_t read_stride(const readers *r, cublasLtMatmulDesc_t from, int which)
{
    int64_t stride;
    return read_operation(r, from, (cublasLtMatmulDescAttributes_t)which, &stride, sizeof stride)
               ? stride
               : 0;
}

static bool asks_for_invariance(const readers *r, cublasLtMatmulDesc_t from)
{
    int32_t flags;
    return read_operation(r, from, (cublasLtMatmulDescAttributes_t)BATCH_INVARIANCE_FLAGS, &flags,
                          sizeof flags) &&
           flags != INVARIANCE_DISABLED && flags != INVARIANCE_UNSET;
}

/* Why a product has to stay native; NULL: it has not. */
static const char *refusal_of(const readers *r, cublasLtMatmulDesc_t from, const operands *x,
                              const td_problem *p)
{
    const layout *c = &x->of_c, *d = &x->of_d;
    if (!x->c && p->beta.device) return td_reason_invalid; /* unless that beta is 0 */
    if (x->c == x->d && (c->ld != d->ld || c->stride != d->stride || c->order != d->order))
        return td_reason_layout;
    if (d->batch > 1 && (read_stride(r, from, ALPHA_BATCH_STRIDE) != 0 ||
                         read_stride(r, from, BETA_BATCH_STRIDE) != 0))
        return td_reason_members;
    return asks_for_invariance(r, from) ? td_reason_invariance : NULL;
}

/* True if the original function must run. */
static bool begin(const char *refusal, const td_problem *p, td_call *call)
{
    if (!refusal) return td_wrap_begin_legacy(TD_ENTRY_cublasLtMatmul, true, p, call);
    if (!td_wrap_is_seen(TD_ENTRY_cublasLtMatmul))
        return td_wrap_pass(TD_ENTRY_cublasLtMatmul, call);
    td_wrap_begin_native(TD_ENTRY_cublasLtMatmul, p, refusal, call);
    return true;
}

/* A call's arguments, and the function that it is of. */
typedef struct {
    __typeof__(&cublasLtMatmul) original;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    const void *alpha, *beta;
    const operands *x;
    const cublasLtMatrixLayout_t *layouts;
    const cublasLtMatmulAlgo_t *algo;
    void *workspace;
    size_t workspace_bytes;
} arguments;

static cublasStatus_t run_original(const arguments *a, cudaStream_t stream)
{
    return a->original(a->handle, a->operation, a->alpha, a->x->a, a->layouts[0], a->x->b,
                       a->layouts[1], a->beta, a->x->c, a->layouts[2], a->x->d, a->layouts[3],
                       a->algo, a->workspace, a->workspace_bytes, stream);
}

/* td_problem.enqueue. */
static bool enqueue(const void *call, cudaStream_t stream)
{
    td_original_enter(TD_CUBLAS);
    const cublasStatus_t status = run_original(call, stream);
    td_original_leave(TD_CUBLAS);
    return status == CUBLAS_STATUS_SUCCESS;
}

TD_EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle,
                                        cublasLtMatmulDesc_t computeDesc, const void *alpha,
                                        const void *A, cublasLtMatrixLayout_t Adesc, const void *B,
                                        cublasLtMatrixLayout_t Bdesc, const void *beta,
                                        const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
                                        cublasLtMatrixLayout_t Ddesc,
                                        const cublasLtMatmulAlgo_t *algo, void *workspace,
                                        size_t workspaceSizeInBytes, cudaStream_t stream)
{
    const bool is_inner = td_library_is_caller(__builtin_return_address(0));
    td_library *library = TD_LIBRARY_OF(lightHandle, cublasLtMatmul);
    const readers r = {TD_ORIGINAL(library, cublasLtMatmulDescGetAttribute),
                       TD_ORIGINAL(library, cublasLtMatrixLayoutGetAttribute)};
    __typeof__(&cublasLtMatmul) original = TD_ORIGINAL(library, cublasLtMatmul);
    static const cublasLtMatmulAlgo_t no_algorithm; /* cublasLt chooses */
    const cublasLtMatrixLayout_t layouts[] = {Adesc, Bdesc, Cdesc, Ddesc};
    operands x = {.a = A, .b = B, .c = C, .d = D};
    const arguments given = {original, lightHandle, computeDesc, alpha,     beta,
                             &x,       layouts,     algo,        workspace, workspaceSizeInBytes};
    operation o = {0};
    td_problem p;
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (is_inner || !lightHandle || !alpha || !beta ||
        !read_call(&r, computeDesc, layouts, &x, &o, &p))
        return run_original(&given, stream);
    const bool on_device = o.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
    td_wrap_set_scalars(&p, alpha, beta, on_device);
    if (lacks_addend(&x, &p)) return run_original(&given, stream);
    p.stream = stream;
    p.caller = __builtin_return_address(0);
    p.lent = (td_loan){workspace, workspaceSizeInBytes};
    p.enqueue = enqueue;
    p.enqueued = &given;
    p.enqueued_by = algo ? algo : &no_algorithm;
    p.enqueued_by_bytes = sizeof *algo;
    td_call call;
    if (!begin(refusal_of(&r, computeDesc, &x, &p), &p, &call)) return td_wrap_status(&call);
    const cublasStatus_t status = run_original(&given, stream);
    td_wrap_end(&call, status == CUBLAS_STATUS_SUCCESS);
    return status;
}
