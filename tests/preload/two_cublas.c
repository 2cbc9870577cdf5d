/* two_cublas.c - a program with cuBLAS 12 and 13. Usage: two_cublas linked | opened | reopened
 * LIBRARY_12 LIBRARY_13
 *
 * Its libraries, which are bound to one of them each, are linked to it (LINKED), or opened, or
 * opened again and again, which unloads them in between, so that one comes where the other has
 * been. Prints "right" if every product was its own cuBLAS's. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"

enum { ROUNDS = 3, HANDLES = 40 };

static void complain(const char *what, int got, int want)
{
    fprintf(stderr, "two_cublas: %s went to cuBLAS %d, not %d\n", what, got, want);
    exit(1);
}

/* A call whose return address is here, where no cuBLAS is asked for. */
static int forward(const bound *b, cublasHandle_t handle)
{
    const double one = 1.0, zero = 0.0, x = 1.0;
    double c = -1.0;
    const cublasStatus_t status =
        b->forward(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &x, 1, &x, 1, &zero, &c, 1);
    return status == CUBLAS_STATUS_SUCCESS ? (int)c : -1;
}

static void use(const bound *b, int major)
{
    cublasHandle_t handles[HANDLES];
    for (int i = 0; i < HANDLES; i++)
        if (!(handles[i] = b->make())) complain("a handle", 0, major);
    for (int i = 0; i < HANDLES; i++) {
        int got = b->multiply(handles[i]);
        if (got != major) complain("a product", got, major);
        got = forward(b, handles[i]);
        if (got != major) complain("a forwarded product", got, major);
        if (b->end(handles[i])) complain("the end of a handle", 0, major);
    }
}

static void use_opened(const char *path, const char *table, int major)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "two_cublas: %s\n", dlerror());
        exit(1);
    }
    use(dlsym(library, table), major);
    dlclose(library);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    const bool again = strcmp(argv[1], "reopened") == 0;
#ifdef LINKED
    use(&bound_13, 13);
    use(&bound_12, 12);
#endif
    for (int round = 0; strcmp(argv[1], "linked") != 0 && round < (again ? ROUNDS : 1); round++) {
        void *kept = again ? NULL : dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        use_opened(argv[3], "bound_13", 13);
        use_opened(argv[2], "bound_12", 12);
        use_opened(argv[3], "bound_13", 13);
        if (kept) dlclose(kept);
    }
    puts("right");
    return 0;
}
