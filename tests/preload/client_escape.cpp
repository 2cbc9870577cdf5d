/* client_escape.cpp - a program that leaves a product of cuBLAS's, from within, by longjmp or by an
 * exception, as its argument says; then it multiplies on. It is the host device's cuBLAS, whose
 * products call cblas_dgemm, which this program has one of, too. It ends with status 0 and prints
 * "right" if all other products have the bits of the first. */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace
{

constexpr int N = 40, DEEP = 6, ESCAPES = 300; /* more than Tandem has timers */

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "client_escape: line %d: %s\n", __LINE__, #condition);            \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

struct escape {
};

enum { STAY, JUMP, THROW } way = STAY; /* what the next product of cuBLAS's own does */
std::jmp_buf back;

cublasHandle_t handle;
double *a, *b, *c;

int multiply(int n)
{
    const double one = 1, zero = 0;
    return cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, N, b, N, &zero, c, N);
}

/* Calls cuBLAS from so many functions further down the stack. */
[[gnu::noinline]] int multiply_below(int depth, int n)
{
    volatile char room[200];
    room[0] = static_cast<char>(depth);
    const int status = depth ? multiply_below(depth - 1, n) : multiply(n);
    return status + room[0] - room[0];
}

/* A product that stays native, and does not return. */
void leave_product(decltype(way) by, int depth, int n)
{
    volatile bool has_left = false;
    REQUIRE(!cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    way = by;
    try {
        if (setjmp(back))
            has_left = true;
        else
            (void)multiply_below(depth, n);
    } catch (const escape &) {
        has_left = true;
    }
    way = STAY;
    REQUIRE(has_left && !cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
}

void product(int depth, double *host)
{
    REQUIRE(!multiply_below(depth, N));
    REQUIRE(!cudaMemcpy(host, c, sizeof *c * N * N, cudaMemcpyDeviceToHost));
}

double *numbers(unsigned seed)
{
    static double host[N * N];
    void *device;
    for (double &x : host) {
        seed = seed * 1664525U + 1013904223U;
        x = static_cast<double>(seed) / 65537;
    }
    REQUIRE(!cudaMalloc(&device, sizeof host));
    REQUIRE(!cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    return static_cast<double *>(device);
}

} // namespace

extern "C" void cblas_dgemm(int order, int op_a, int op_b, int m, int n, int k, double alpha,
                            const double *x, int ldx, const double *y, int ldy, double beta,
                            double *z, int ldz)
{
    if (way == JUMP) std::longjmp(back, 1);
    if (way == THROW) throw escape{};
    static decltype(&cblas_dgemm) original;
    if (!original) original = reinterpret_cast<decltype(original)>(dlsym(RTLD_NEXT, "cblas_dgemm"));
    original(order, op_a, op_b, m, n, k, alpha, x, ldx, y, ldy, beta, z, ldz);
}

int main(int argc, char **argv)
{
    static double first[N * N], again[N * N];
    const auto by = argc == 2 && !std::strcmp(argv[1], "longjmp") ? JUMP : THROW;
    REQUIRE(!cublasCreate(&handle));
    a = numbers(1);
    b = numbers(2);
    c = numbers(3);
    product(0, first);
    for (int i = 0; i < ESCAPES; i++) {
        leave_product(by, i % 2 ? DEEP : 0, 1 + i % (N - 1));
        product(i / 2 % 2 ? DEEP : 0, again);
        REQUIRE(!std::memcmp(first, again, sizeof first));
    }
    REQUIRE(!cublasDestroy(handle));
    std::puts("right");
    return 0;
}
