/* Eigenpairs by cuSOLVER. */
#include "solver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#include <cusolverDn.h>

#include "common.h"

/* The functions that are used; X(name) for each. */
#define FUNCTIONS                                                                                  \
    X(cusolverDnCreate)                                                                            \
    X(cusolverDnDestroy)                                                                           \
    X(cusolverDnSsyevd_bufferSize)                                                                 \
    X(cusolverDnSsyevd)                                                                            \
    X(cusolverDnDsyevd_bufferSize)                                                                 \
    X(cusolverDnDsyevd)                                                                            \
    X(cusolverDnDsygvd_bufferSize)                                                                 \
    X(cusolverDnDsygvd)

typedef struct {
    void *library;
#define X(name) __typeof__(name) *name;
    FUNCTIONS
#undef X
} cusolver;

static bool cusolver_load(cusolver *c)
{
    static const char *const names[] = {"libcusolver.so.12", "libcusolver.so.11"};

    for (size_t i = 0; !c->library && i < sizeof names / sizeof *names; i++)
        c->library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (!c->library) {
        complain("cuSOLVER: %s", dlerror());
        return false;
    }
#define X(name)                                                                                    \
    *(void **)&c->name = dlsym(c->library, #name);                                                 \
    if (!c->name) {                                                                                \
        complain("cuSOLVER: the library lacks %s", #name);                                         \
        return false;                                                                              \
    }
    FUNCTIONS
#undef X
    return true;
}

static bool cusolver_succeeded(cusolverStatus_t status, const char *function)
{
    if (status != CUSOLVER_STATUS_SUCCESS)
        complain("cuSOLVER: %s: status %d", function, (int)status);
    return status == CUSOLVER_STATUS_SUCCESS;
}

#define CHECK_CUSOLVER(function, ...)                                                              \
    do {                                                                                           \
        if (!cusolver_succeeded(c->function(__VA_ARGS__), #function)) goto out;                    \
    } while (0)

/* Overwrites the n x n matrix of the host with its eigenvectors. */
static bool diagonalise(const cusolver *c, int n, float *matrix)
{
    size_t matrix_bytes = (size_t)n * (size_t)n * sizeof *matrix;
    cusolverDnHandle_t handle = NULL;
    float *vectors = NULL, *values = NULL, *work = NULL;
    int *device_info = NULL, work_count = 0, info = 0;
    bool is_done = false;

    CHECK_CUSOLVER(cusolverDnCreate, &handle);
    CHECK_CUDA(cudaMalloc((void **)&vectors, matrix_bytes));
    CHECK_CUDA(cudaMalloc((void **)&values, (size_t)n * sizeof *values));
    CHECK_CUDA(cudaMalloc((void **)&device_info, sizeof info));
    CHECK_CUDA(cudaMemcpy(vectors, matrix, matrix_bytes, cudaMemcpyHostToDevice));
    CHECK_CUSOLVER(cusolverDnSsyevd_bufferSize, handle, CUSOLVER_EIG_MODE_VECTOR,
                   CUBLAS_FILL_MODE_LOWER, n, vectors, n, values, &work_count);
    CHECK_CUDA(cudaMalloc((void **)&work, (size_t)work_count * sizeof *work));
    CHECK_CUSOLVER(cusolverDnSsyevd, handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n,
                   vectors, n, values, work, work_count, device_info);
    CHECK_CUDA(cudaMemcpy(&info, device_info, sizeof info, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(matrix, vectors, matrix_bytes, cudaMemcpyDeviceToHost));
    is_done = !info;
    if (info) complain("cusolverDnSsyevd: info %d", info);
out:
    cudaFree(work);
    cudaFree(device_info);
    cudaFree(values);
    cudaFree(vectors);
    if (handle) c->cusolverDnDestroy(handle);
    return is_done;
}

bool eigenvectors_cusolver(int n, const double *a, double *x)
{
    ptrdiff_t count = (ptrdiff_t)n * n;
    float *matrix = calloc((size_t)count, sizeof *matrix);
    cusolver c = {0};
    bool is_done = false;

    if (!matrix) {
        complain("no memory for a %d x %d matrix on the host", n, n);
        return false;
    }
    for (ptrdiff_t i = 0; i < count; i++) matrix[i] = (float)a[i];
    is_done = cusolver_load(&c) && diagonalise(&c, n, matrix);
    for (ptrdiff_t i = 0; is_done && i < count; i++) x[i] = (double)matrix[i];
    free(matrix);
    return is_done; /* the library stays loaded: it may have left threads behind */
}

/* ---- binary64 ---- */

/* The calls for one problem; their memory is the device's. */
typedef struct {
    const cusolver *library;
    cusolverDnHandle_t handle;
    int n, work_count;
    double *x, *factor, *d, *work; /* A, then its eigenvectors; B, then its factor, or NULL */
    int *info;
} pairs;

static bool allocate_work(pairs *p)
{
    const cusolver *c = p->library;

    if (p->factor)
        CHECK_CUSOLVER(cusolverDnDsygvd_bufferSize, p->handle, CUSOLVER_EIG_TYPE_1,
                       CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, p->n, p->x, p->n,
                       p->factor, p->n, p->d, &p->work_count);
    else
        CHECK_CUSOLVER(cusolverDnDsyevd_bufferSize, p->handle, CUSOLVER_EIG_MODE_VECTOR,
                       CUBLAS_FILL_MODE_LOWER, p->n, p->x, p->n, p->d, &p->work_count);
    CHECK_CUDA(cudaMalloc((void **)&p->work, (size_t)p->work_count * sizeof *p->work));
    CHECK_CUDA(cudaMalloc((void **)&p->info, sizeof *p->info));
    return true;
out:
    return false;
}

static bool find_pairs(const pairs *p, double *seconds)
{
    const cusolver *c = p->library;
    int info = 0;

    CHECK_CUDA(cudaDeviceSynchronize());
    const double start = seconds_now();
    if (p->factor)
        CHECK_CUSOLVER(cusolverDnDsygvd, p->handle, CUSOLVER_EIG_TYPE_1, CUSOLVER_EIG_MODE_VECTOR,
                       CUBLAS_FILL_MODE_LOWER, p->n, p->x, p->n, p->factor, p->n, p->d, p->work,
                       p->work_count, p->info);
    else
        CHECK_CUSOLVER(cusolverDnDsyevd, p->handle, CUSOLVER_EIG_MODE_VECTOR,
                       CUBLAS_FILL_MODE_LOWER, p->n, p->x, p->n, p->d, p->work, p->work_count,
                       p->info);
    CHECK_CUDA(cudaDeviceSynchronize());
    *seconds = seconds_now() - start;
    CHECK_CUDA(cudaMemcpy(&info, p->info, sizeof info, cudaMemcpyDeviceToHost));
    if (info)
        complain("cuSOLVER finds no eigenpairs: info %d%s", info,
                 p->factor && info > p->n ? ", B is not positive definite" : "");
    return info == 0;
out:
    return false;
}

bool eigenpairs_cusolver(int n, const double *a, const double *b, double *x, double *d,
                         double *seconds)
{
    const size_t bytes = (size_t)n * (size_t)n * sizeof *a;
    cusolver library = {0}, *const c = &library;
    pairs p = {.library = c, .n = n, .x = x, .d = d};
    bool is_done = false;

    if (!cusolver_load(c)) return false;
    CHECK_CUSOLVER(cusolverDnCreate, &p.handle);
    CHECK_CUDA(cudaMemcpy(x, a, bytes, cudaMemcpyDeviceToDevice));
    if (b) {
        CHECK_CUDA(cudaMalloc((void **)&p.factor, bytes));
        CHECK_CUDA(cudaMemcpy(p.factor, b, bytes, cudaMemcpyDeviceToDevice));
    }
    is_done = allocate_work(&p) && find_pairs(&p, seconds);
out:
    cudaFree(p.info);
    cudaFree(p.work);
    cudaFree(p.factor);
    if (p.handle) c->cusolverDnDestroy(p.handle);
    return is_done;
}
