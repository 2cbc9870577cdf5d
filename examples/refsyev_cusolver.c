/* Start vectors by cuSOLVER. The library is looked up when it is asked for, so that the program also runs
 * where there is none. */
#include "refsyev_matrix.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#include <cusolverDn.h>

/* The functions that are used; X(name) for each. */
#define FUNCTIONS                                                                                  \
    X(cusolverDnCreate)                                                                            \
    X(cusolverDnDestroy)                                                                           \
    X(cusolverDnSsyevd_bufferSize)                                                                 \
    X(cusolverDnSsyevd)

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
        complain("--cusolver: %s", dlerror());
        return false;
    }
#define X(name)                                                                                    \
    *(void **)&c->name = dlsym(c->library, #name);                                                 \
    if (!c->name) {                                                                                \
        complain("--cusolver: the library lacks %s", #name);                                       \
        return false;                                                                              \
    }
    FUNCTIONS
#undef X
    return true;
}

static bool cusolver_succeeded(cusolverStatus_t status, const char *function)
{
    if (status != CUSOLVER_STATUS_SUCCESS)
        complain("--cusolver: %s: status %d", function, (int)status);
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
