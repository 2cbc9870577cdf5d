/* grouped.c - wrappers of cuBLAS's groups of products of real matrices: the members of a group have
 * sizes, operations and scalars in common, and each group is described as a td_problem with arrays
 * of pointers. A group that stays native runs by the original function, together with native groups
 * next to it. If any group is invalid, the original function has the whole call. */
#include "wrap.h"

/* A call's arguments. Arrays of sizes have int64_t elements if is_wide, int elements otherwise. */
typedef struct groups {
    td_entry entry;
    td_library *library;
    const void *caller;
    bool is_wide;
    cublasHandle_t handle;
    const cublasOperation_t *op_a, *op_b;
    const void *m, *n, *k, *lda, *ldb, *ldc, *members;
    const double *alpha, *beta;
    const void *a, *b, *c; /* arrays of pointers in device memory; groups behind one another */
    cudaDataType type_a, type_b, type_c;
    cublasComputeType_t compute;
    int64_t count;

    /* Calls the original function for `count` groups from group `first` on, before which the arrays
     * of pointers have `skipped` members. */
    cublasStatus_t (*run)(const struct groups *g, int64_t first, int64_t count, int64_t skipped);
} groups;

static int64_t size_at(const groups *g, const void *array, int64_t i)
{
    return g->is_wide ? ((const int64_t *)array)[i] : ((const int *)array)[i];
}

static td_matrix matrices_at(const groups *g, const void *array, const void *ld, int64_t i,
                             int64_t skipped)
{
    return (td_matrix){.array = (void *const *)(uintptr_t)array + skipped, .ld = size_at(g, ld, i)};
}

/* Group i, which has so many members before it; without scalars. */
static td_problem problem_of(const groups *g, int64_t i, int64_t skipped)
{
    return (td_problem){.kind = TD_PRODUCT,
                        .type = TD_BINARY64,
                        .op_a = (td_op)g->op_a[i],
                        .op_b = (td_op)g->op_b[i],
                        .m = size_at(g, g->m, i),
                        .n = size_at(g, g->n, i),
                        .k = size_at(g, g->k, i),
                        .a = matrices_at(g, g->a, g->lda, i, skipped),
                        .b = matrices_at(g, g->b, g->ldb, i, skipped),
                        .c = matrices_at(g, g->c, g->ldc, i, skipped),
                        .batch = size_at(g, g->members, i),
                        .caller = g->caller};
}

/* True if the call's arrays are there, and its scalars on the host: cuBLAS takes no others. */
static bool can_be_described(const groups *g)
{
    const void *const arrays[] = {g->op_a, g->op_b,  g->m,    g->n, g->k, g->lda, g->ldb,
                                  g->ldc,  g->alpha, g->beta, g->a, g->b, g->c,   g->members};
    __typeof__(&cublasGetPointerMode_v2) get_mode =
        TD_ORIGINAL(g->library, cublasGetPointerMode_v2);
    cublasPointerMode_t mode;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (!arrays[i]) return false;
    return g->count > 0 && g->handle && get_mode &&
           get_mode(g->handle, &mode) == CUBLAS_STATUS_SUCCESS && mode == CUBLAS_POINTER_MODE_HOST;
}

/* ---- groups that wait to run natively ---- */

enum { MOST_WAITING = 32 };

typedef struct {
    td_call call[MOST_WAITING];
    int64_t first, count, skipped; /* as groups.run has them */
} queue;

static cublasStatus_t run_queue(const groups *g, queue *q)
{
    if (q->count == 0) return CUBLAS_STATUS_SUCCESS;
    td_wrap_resume(q->call, (int)q->count);
    const cublasStatus_t status = g->run(g, q->first, q->count, q->skipped);
    for (int64_t i = q->count; i-- > 0;) td_wrap_end(&q->call[i], status == CUBLAS_STATUS_SUCCESS);
    q->count = 0;
    return status;
}

static cublasStatus_t first_failure(cublasStatus_t before, cublasStatus_t now)
{
    return before == CUBLAS_STATUS_SUCCESS ? now : before;
}

/* Each group is valid. */
static cublasStatus_t run_groups(const groups *g)
{
    queue waiting = {.count = 0};
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int64_t i = 0, skipped = 0; i < g->count; i++) {
        td_problem p = problem_of(g, i, skipped);
        td_call *call = &waiting.call[waiting.count];
        if (waiting.count == 0) waiting.first = i, waiting.skipped = skipped;
        skipped += p.batch;
        if (td_wrap_begin(g->entry, g->library, g->handle, &g->alpha[i], &g->beta[i], &p, call)) {
            td_wrap_wait(call);
            if (++waiting.count < MOST_WAITING) continue;
        } else {
            status = first_failure(status, td_wrap_status(call));
        }
        status = first_failure(status, run_queue(g, &waiting));
    }
    return first_failure(status, run_queue(g, &waiting));
}

/* The original function for all groups, as the call of group i, which has so many members before
 * it. */
static cublasStatus_t run_as(const groups *g, int64_t i, int64_t skipped)
{
    td_problem p = problem_of(g, i, skipped);
    td_call call;
    if (!td_wrap_begin(g->entry, g->library, g->handle, &g->alpha[i], &g->beta[i], &p, &call))
        return td_wrap_status(&call);
    const cublasStatus_t status = g->run(g, 0, g->count, 0);
    td_wrap_end(&call, status == CUBLAS_STATUS_SUCCESS);
    return status;
}

static cublasStatus_t multiply(const groups *g)
{
    if (!td_wrap_is_seen(g->entry) || !can_be_described(g)) return g->run(g, 0, g->count, 0);
    for (int64_t i = 0, skipped = 0; i < g->count; i++) {
        const td_problem p = problem_of(g, i, skipped);
        if (!td_problem_is_valid(&p)) return run_as(g, i, skipped);
        skipped += p.batch;
    }
    return run_groups(g);
}

/* ---- the functions ---- */

/* A run's part of an array of pointers to `numbers`, and of an array of sizes. */
#define POINTERS(array, numbers) ((numbers *const *)(uintptr_t)(array) + skipped)
#define SIZES_OF(array, size)    ((const size *)(array) + first)

#define FIRST_ARGUMENTS(size)                                                                      \
    cublasHandle_t handle, const cublasOperation_t transa_array[],                                 \
        const cublasOperation_t transb_array[], const size m_array[], const size n_array[],        \
        const size k_array[]

#define GROUPS(function, size, of_a, of_b, of_c, of_compute)                                       \
    {                                                                                              \
        .entry = TD_ENTRY_##function, .library = TD_LIBRARY_OF(handle, function),                  \
        .caller = __builtin_return_address(0), .is_wide = sizeof(size) == sizeof(int64_t),         \
        .handle = handle, .op_a = transa_array, .op_b = transb_array, .m = m_array, .n = n_array,  \
        .k = k_array, .lda = lda_array, .ldb = ldb_array, .ldc = ldc_array, .members = group_size, \
        .alpha = alpha_array, .beta = beta_array, .a = Aarray, .b = Barray, .c = Carray,           \
        .type_a = (of_a), .type_b = (of_b), .type_c = (of_c), .compute = (of_compute),             \
        .count = group_count, .run = run_##function                                                \
    }

#define DEFINE_GROUPED(function, size)                                                             \
    static cublasStatus_t run_##function(const groups *g, int64_t first, int64_t count,            \
                                         int64_t skipped)                                          \
    {                                                                                              \
        __typeof__(&(function)) original = TD_ORIGINAL(g->library, function);                      \
        if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;                                       \
        return original(g->handle, g->op_a + first, g->op_b + first, SIZES_OF(g->m, size),         \
                        SIZES_OF(g->n, size), SIZES_OF(g->k, size), g->alpha + first,              \
                        POINTERS(g->a, const double), SIZES_OF(g->lda, size),                      \
                        POINTERS(g->b, const double), SIZES_OF(g->ldb, size), g->beta + first,     \
                        POINTERS(g->c, double), SIZES_OF(g->ldc, size), (size)count,               \
                        SIZES_OF(g->members, size));                                               \
    }                                                                                              \
    TD_EXPORT cublasStatus_t function(                                                             \
        FIRST_ARGUMENTS(size), const double alpha_array[], const double *const Aarray[],           \
        const size lda_array[], const double *const Barray[], const size ldb_array[],              \
        const double beta_array[], double *const Carray[], const size ldc_array[],                 \
        size group_count, const size group_size[])                                                 \
    {                                                                                              \
        const groups g =                                                                           \
            GROUPS(function, size, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F);        \
        return multiply(&g);                                                                       \
    }

static bool is_binary64(const groups *g)
{
    return g->type_a == CUDA_R_64F && g->type_b == CUDA_R_64F && g->type_c == CUDA_R_64F &&
           g->compute == CUBLAS_COMPUTE_64F;
}

#define DEFINE_GROUPED_EX(function, size)                                                          \
    static cublasStatus_t run_##function(const groups *g, int64_t first, int64_t count,            \
                                         int64_t skipped)                                          \
    {                                                                                              \
        __typeof__(&(function)) original = TD_ORIGINAL(g->library, function);                      \
        if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;                                       \
        return original(g->handle, g->op_a + first, g->op_b + first, SIZES_OF(g->m, size),         \
                        SIZES_OF(g->n, size), SIZES_OF(g->k, size), g->alpha + first,              \
                        POINTERS(g->a, const void), g->type_a, SIZES_OF(g->lda, size),             \
                        POINTERS(g->b, const void), g->type_b, SIZES_OF(g->ldb, size),             \
                        g->beta + first, POINTERS(g->c, void), g->type_c, SIZES_OF(g->ldc, size),  \
                        (size)count, SIZES_OF(g->members, size), g->compute);                      \
    }                                                                                              \
    TD_EXPORT cublasStatus_t function(                                                             \
        FIRST_ARGUMENTS(size), const void *alpha_array, const void *const Aarray[],                \
        cudaDataType_t Atype, const size lda_array[], const void *const Barray[],                  \
        cudaDataType_t Btype, const size ldb_array[], const void *beta_array,                      \
        void *const Carray[], cudaDataType_t Ctype, const size ldc_array[], size group_count,      \
        const size group_size[], cublasComputeType_t computeType)                                  \
    {                                                                                              \
        const groups g = GROUPS(function, size, Atype, Btype, Ctype, computeType);                 \
        return is_binary64(&g) ? multiply(&g) : g.run(&g, 0, g.count, 0);                          \
    }

DEFINE_GROUPED(cublasDgemmGroupedBatched, int)
DEFINE_GROUPED(cublasDgemmGroupedBatched_64, int64_t)
DEFINE_GROUPED_EX(cublasGemmGroupedBatchedEx, int)
DEFINE_GROUPED_EX(cublasGemmGroupedBatchedEx_64, int64_t)
