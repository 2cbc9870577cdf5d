/* linked_runtime.c - a program that calls Tandem and the CUDA runtime by name and is linked to
 * both: to the toolkit's runtime. Prints "right" if a product of device memory is right. */
#include <stdio.h>

#include <cuda_runtime_api.h>
#include <tandem.h>

int main(void)
{
    double x = 3, *a = NULL;
    if (cudaMalloc((void **)&a, 2 * sizeof x) ||
        cudaMemcpy(a, &x, sizeof x, cudaMemcpyHostToDevice) ||
        tandem_dgemm("df", TANDEM_OP_N, TANDEM_OP_N, 1, 1, 1, 1.0, a, 1, a, 1, 0.0, a + 1, 1,
                     NULL) ||
        cudaMemcpy(&x, a + 1, sizeof x, cudaMemcpyDeviceToHost) || x != 9)
        return 1;
    puts("right");
    return 0;
}
