/* client_dlopen.c - a program that opens cuBLAS itself, by the name that it is given or as
 * libcublas.so.13, and looks its functions up. Prints "native" or "df", the arithmetic of its one
 * product. */
#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>

#include "../kernels/support/problem.h"

static void *library;

static void *find(const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) fprintf(stderr, "client_dlopen: %s\n", dlerror());
    return symbol;
}

/* C on the device for a problem; 0 if all went well. */
static int multiply(const problem *p, double *c)
{
    cublasHandle_t handle = NULL;
    double *a = NULL, *b = NULL;
    const size_t bytes[] = {p->a.count * sizeof(double), p->b.count * sizeof(double)};
    cublasStatus_t (*create)(cublasHandle_t *) =
        (cublasStatus_t(*)(cublasHandle_t *))find("cublasCreate_v2");
    __typeof__(&cublasDgemm_v2) dgemm = (__typeof__(&cublasDgemm_v2))find("cublasDgemm_v2");
    if (!create || !dgemm || create(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    if (cudaMalloc((void **)&a, bytes[0]) || cudaMalloc((void **)&b, bytes[1])) return 1;
    if (cudaMemcpy(a, p->a.storage, bytes[0], cudaMemcpyHostToDevice) ||
        cudaMemcpy(b, p->b.storage, bytes[1], cudaMemcpyHostToDevice))
        return 1;
    const int status =
        (int)dgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)p->of.m, (int)p->of.n, (int)p->of.k,
                   &p->of.alpha, a, (int)p->a.ld, b, (int)p->b.ld, &p->of.beta, c, (int)p->c.ld);
    return status || cudaDeviceSynchronize() || cudaFree(a) || cudaFree(b);
}

int main(int count, char **arguments)
{
    const product of = {.data = "both signs", .m = 40, .n = 30, .k = 50, .alpha = 1.0, .seed = 81};
    problem p = problem_make(&of);
    test_matrix want = matrix_copy(&p.c), got = matrix_copy(&p.c);
    const ref_gemm gemm = problem_gemm(&p, &want);
    double *c = NULL;
    const size_t bytes = p.c.count * sizeof(double);
    library = dlopen(count > 1 ? arguments[1] : "libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "client_dlopen: %s\n", dlerror());
        return 3;
    }
    ref_find("df")->product(&gemm);
    if (cudaMalloc((void **)&c, bytes) || multiply(&p, c) ||
        cudaMemcpy(got.storage, c, bytes, cudaMemcpyDeviceToHost))
        return 3;
    puts(matrix_difference(&got, &want) == -1 ? "df" : "native");
    return 0;
}
