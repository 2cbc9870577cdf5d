/* opened_late.c - opens the libraries that it is given, one after the other, and has the last one's
 * tandem_dgemm multiply 2 x 2 matrices in mode df, in a second thread, too. A library that begins
 * with '?' need not open. Prints "right" if all went well. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include <cuda_runtime_api.h>
#include <tandem.h>

typedef __typeof__(&tandem_dgemm) dgemm;
typedef __typeof__(&cudaMalloc) allocate;
typedef __typeof__(&cudaMemcpy) copy;

static void *library;

static void *find(const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) fprintf(stderr, "opened_late: %s\n", dlerror());
    return symbol;
}

/* NULL if the product is wrong. */
static void *multiply(void *unused)
{
    const double want[] = {7, 10, 15, 22};
    double numbers[] = {1, 2, 3, 4}, *a = NULL;
    const allocate cuda_malloc = (allocate)find("cudaMalloc");
    const copy cuda_memcpy = (copy)find("cudaMemcpy");
    const dgemm multiply = (dgemm)find("tandem_dgemm");
    (void)unused;
    if (!cuda_malloc || !cuda_memcpy || !multiply || cuda_malloc((void **)&a, 2 * sizeof numbers) ||
        cuda_memcpy(a, numbers, sizeof numbers, cudaMemcpyHostToDevice) ||
        multiply("df", TANDEM_OP_N, TANDEM_OP_N, 2, 2, 2, 1.0, a, 2, a, 2, 0.0, a + 4, 2, NULL) ||
        cuda_memcpy(numbers, a + 4, sizeof numbers, cudaMemcpyDeviceToHost))
        return NULL;
    for (int i = 0; i < 4; i++)
        if (numbers[i] != want[i]) return NULL;
    return library;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    void *is_right = NULL;
    for (int i = 1; i < count; i++) {
        const int may_fail = arguments[i][0] == '?';
        library = dlopen(arguments[i] + may_fail, RTLD_NOW | RTLD_LOCAL);
        if (!library && !may_fail) {
            fprintf(stderr, "opened_late: %s\n", dlerror());
            return 1;
        }
    }
    if (!library || !multiply(NULL) || pthread_create(&thread, NULL, multiply, NULL) ||
        pthread_join(thread, &is_right) || !is_right)
        return 1;
    puts("right");
    return 0;
}
