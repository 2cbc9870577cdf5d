/* client_grouped.c - a program that knows nothing of Tandem: groups of products of several sizes,
 * for check_preload_grouped.py. A line for each member of each group: `same` if its C has the bits
 * that cublasDgemm gives it, else `other`; then, with a group that is invalid, the call's status
 * and how many C have changed. */
#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "require.h"

enum { GROUPS = 7, MEMBERS = 11, N = 24, K = 40, LD = 64, SIZE = LD * LD };

static const int m[GROUPS] = {8, 9, 40, 41, 7, 48, 12}, members[GROUPS] = {1, 2, 1, 3, 0, 1, 3};
static const double alpha[GROUPS] = {1, -1, 2, 0.5, 1, -2, 3},
                    beta[GROUPS] = {0, 1, -1, 0.5, 0, 2, 0};

static cublasHandle_t handle;
static double *a, *b, *c, *pointers[3 * MEMBERS], **arrays;
static double before[MEMBERS * SIZE], grouped[MEMBERS * SIZE], alone[MEMBERS * SIZE];

static void fill(double *there, int of)
{
    for (int e = 0; e < MEMBERS * SIZE; e++) before[e] = sin(1.3 * e + of) * exp(e % 5);
    REQUIRE(cudaMemcpy(there, before, sizeof before, cudaMemcpyHostToDevice));
}

static cublasOperation_t op_of(int group, int which)
{
    return (group + which) % 2 ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* With the sizes m; through the function whose types are arguments, or the other one. */
static cublasStatus_t multiply(const int sizes[GROUPS], bool is_ex)
{
    cublasOperation_t op_a[GROUPS], op_b[GROUPS];
    int n[GROUPS], k[GROUPS], ld[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        op_a[g] = op_of(g, 0);
        op_b[g] = op_of(g, 1);
        n[g] = N, k[g] = K, ld[g] = LD;
    }
    if (!is_ex)
        return cublasDgemmGroupedBatched(handle, op_a, op_b, sizes, n, k, alpha,
                                         (const double *const *)arrays, ld,
                                         (const double *const *)arrays + MEMBERS, ld, beta,
                                         arrays + 2 * MEMBERS, ld, GROUPS, members);
    return cublasGemmGroupedBatchedEx(
        handle, op_a, op_b, sizes, n, k, alpha, (const void *const *)arrays, CUDA_R_64F, ld,
        (const void *const *)arrays + MEMBERS, CUDA_R_64F, ld, beta,
        (void *const *)arrays + 2 * MEMBERS, CUDA_R_64F, ld, GROUPS, members, CUBLAS_COMPUTE_64F);
}

static void multiply_alone(void)
{
    for (int g = 0, z = 0; g < GROUPS; g++)
        for (int i = 0; i < members[g]; i++, z++)
            REQUIRE(cublasDgemm_v2(handle, op_of(g, 0), op_of(g, 1), m[g], N, K, &alpha[g],
                                   a + z * SIZE, LD, b + z * SIZE, LD, &beta[g], c + z * SIZE, LD));
}

static void check(bool is_ex)
{
    int bad[GROUPS], changed = 0;
    fill(c, 3);
    multiply_alone();
    REQUIRE(cudaMemcpy(alone, c, sizeof alone, cudaMemcpyDeviceToHost));
    fill(c, 3);
    REQUIRE(multiply(m, is_ex));
    REQUIRE(cudaMemcpy(grouped, c, sizeof grouped, cudaMemcpyDeviceToHost));
    for (int g = 0, z = 0; g < GROUPS; g++)
        for (int i = 0; i < members[g]; i++, z++)
            printf("%d group %d member %d: %s\n", is_ex, g, i,
                   memcmp(&grouped[z * SIZE], &alone[z * SIZE], SIZE * sizeof *alone) ? "other"
                                                                                      : "same");
    memcpy(bad, m, sizeof bad);
    bad[GROUPS - 1] = -1;
    fill(c, 3);
    const cublasStatus_t status = multiply(bad, is_ex);
    REQUIRE(cudaMemcpy(grouped, c, sizeof grouped, cudaMemcpyDeviceToHost));
    for (int e = 0; e < MEMBERS * SIZE; e++) changed += grouped[e] != before[e];
    printf("%d invalid: status %d, %d changed\n", is_ex, (int)status, changed);
}

int main(void)
{
    REQUIRE(cudaMalloc((void **)&a, sizeof before));
    REQUIRE(cudaMalloc((void **)&b, sizeof before));
    REQUIRE(cudaMalloc((void **)&c, sizeof before));
    REQUIRE(cudaMalloc((void **)&arrays, sizeof pointers));
    for (int z = 0; z < MEMBERS; z++) {
        pointers[z] = a + z * SIZE;
        pointers[MEMBERS + z] = b + z * SIZE;
        pointers[2 * MEMBERS + z] = c + z * SIZE;
    }
    REQUIRE(cudaMemcpy(arrays, pointers, sizeof pointers, cudaMemcpyHostToDevice));
    REQUIRE(cublasCreate_v2(&handle));
    fill(a, 1);
    fill(b, 2);
    check(false);
    check(true);
    REQUIRE(cublasDestroy_v2(handle));
    return 0;
}
