/* check_executor.c - kernels compiled for the host do what they do on a device. */
#include <fenv.h>
#include <pthread.h>

#include "../../hostgpu/unwritten.h"
#include "executor_kernels.h"
#include "expect.h"

/* Device memory for one test, all bytes `fill`; the tests read and write it directly. */
static void *acquire(size_t bytes, int fill)
{
    void *memory = NULL;

    expect_success(cudaMalloc(&memory, bytes));
    expect_success(cudaMemset(memory, fill, bytes));
    return memory;
}

static struct dim3 size3(unsigned x, unsigned y, unsigned z)
{
    return (struct dim3){.x = x, .y = y, .z = z};
}

/* ---- indices ---- */

static void check_size(struct dim3 grid, struct dim3 block)
{
    const size_t blocks = (size_t)grid.x * grid.y * grid.z;
    const size_t threads = (size_t)block.x * block.y * block.z;
    unsigned *out = acquire(blocks * threads * 12 * sizeof *out, 0);

    expect_success(launch_indices(grid, block, out));
    for (size_t i = 0; i < blocks * threads; i++) {
        const unsigned b = (unsigned)(i / threads), t = (unsigned)(i % threads);
        const unsigned want[12] = {t % block.x,
                                   t / block.x % block.y,
                                   t / block.x / block.y,
                                   b % grid.x,
                                   b / grid.x % grid.y,
                                   b / grid.x / grid.y,
                                   block.x,
                                   block.y,
                                   block.z,
                                   grid.x,
                                   grid.y,
                                   grid.z};

        assert_memory_equal(out + 12 * i, want, sizeof want);
    }
    cudaFree(out);
}

TEST(test_indices)
{
    check_size(size3(1, 1, 1), size3(1, 1, 1));
    check_size(size3(3, 2, 4), size3(5, 3, 2));
    check_size(size3(1000, 1, 1), size3(1, 1, 1));
    check_size(size3(2, 1, 1), size3(1024, 1, 1));
    check_size(size3(1, 3, 1), size3(4, 4, 64));
}

TEST(test_limits)
{
    const struct dim3 one = size3(1, 1, 1);
    unsigned *out = acquire(12 * sizeof *out, 0);

    expect_error(launch_indices(one, size3(1025, 1, 1), out), cudaErrorInvalidConfiguration);
    expect_error(launch_indices(one, size3(32, 33, 1), out), cudaErrorInvalidConfiguration);
    expect_error(launch_indices(one, size3(1, 1, 65), out), cudaErrorInvalidConfiguration);
    expect_error(launch_indices(one, size3(0, 1, 1), out), cudaErrorInvalidConfiguration);
    expect_error(launch_indices(size3(1, 0, 1), one, out), cudaErrorInvalidConfiguration);
    expect_error(launch_indices(size3(1, 65536, 1), one, out), cudaErrorInvalidConfiguration);
    cudaFree(out);
}

TEST(test_shared_limit)
{
    int *out = acquire(sizeof *out, 0);

    expect_success(launch_large_shared(48 << 10, out));
    expect_error(launch_large_shared((48 << 10) + 4, out), cudaErrorInvalidValue);
    expect_error(allow_large_shared((227 << 10) + 1), cudaErrorInvalidValue);
    expect_success(allow_large_shared(227 << 10));
    *out = 0;
    expect_success(launch_large_shared(227 << 10, out));
    assert_int_equal(*out, 14);
    expect_error(launch_large_shared((227 << 10) + 4, out), cudaErrorInvalidValue);
    cudaFree(out);
}

/* ---- shared memory and barriers ---- */

TEST(test_reverse)
{
    enum { BLOCKS = 40 };
    int *out = acquire(BLOCKS * 1024 * sizeof *out, 0);

    expect_success(launch_reverse_static(BLOCKS, out));
    for (int i = 0; i < BLOCKS * 256; i++) assert_int_equal(out[i], i / 256 * 256 + 255 - i % 256);

    for (int threads = 1; threads <= 1024; threads += 341) {
        expect_success(launch_reverse_dynamic(BLOCKS, (unsigned)threads, out));
        for (int i = 0; i < BLOCKS * threads; i++)
            assert_int_equal(out[i], i / threads * threads + threads - 1 - i % threads);
    }
    cudaFree(out);
}

TEST(test_barrier_votes)
{
    int *out = acquire(3 * 96 * sizeof *out, 0);

    expect_success(launch_barrier_votes(out));
    for (int i = 0; i < 96; i++) {
        assert_int_equal(out[3 * i], 32);
        assert_int_equal(out[3 * i + 1], 10);
        assert_int_equal(out[3 * i + 2], 1);
    }
    cudaFree(out);
}

TEST(test_tree_sum)
{
    enum { BLOCKS = 8, N = 1024 * BLOCKS };
    long long *in = acquire(N * sizeof *in, 0), *out = acquire(BLOCKS * sizeof *out, 0);

    for (long long i = 0; i < N; i++) in[i] = i * i - 7 * i;
    expect_success(launch_tree_sum(BLOCKS, in, out));
    for (int b = 0; b < BLOCKS; b++) {
        long long sum = 0;

        for (int i = 0; i < 1024; i++) sum += in[1024 * b + i];
        assert_int_equal(out[b], sum);
    }
    free_memory(in, out);
}

TEST(test_unset_shared)
{
    enum { ZEROS = 1 }; /* a seed */
    unsigned *out = acquire(2 * sizeof *out, 0xff);

    expect_success(launch_unset_shared(out));
    assert_int_equal(out[0], 0xffffffff);
    assert_int_equal(out[1], 0xffffffff);
    hostgpu_draw_unwritten(ZEROS);
    expect_success(launch_unset_shared(out));
    hostgpu_draw_unwritten(0);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 0);
    cudaFree(out);
}

/* ---- warps ---- */

TEST(test_shuffles)
{
    int *out = acquire(64 * SHUFFLE_KINDS * sizeof *out, 0);

    expect_success(launch_shuffles(out));
    for (int i = 0; i < 64; i++) {
        const int warp = i / 32 * 32, lane = i % 32;
        const int source[SHUFFLE_KINDS] = {
            5,
            lane / 8 * 8 + 1,
            lane < 3 ? lane : lane - 3,
            lane % 16 < 1 ? lane : lane - 1,
            lane + 30 > 31 ? lane : lane + 30,
            lane % 4 + 2 > 3 ? lane : lane + 2,
            lane ^ 17,
            lane / 8 % 2 ? lane - 8 : lane, /* an earlier group, but no later one */
        };

        for (int kind = 0; kind < SHUFFLE_KINDS; kind++)
            assert_int_equal(out[SHUFFLE_KINDS * i + kind], 100 + warp + source[kind]);
    }
    cudaFree(out);
}

TEST(test_shuffle_double)
{
    double *out = acquire(64 * sizeof *out, 0);

    expect_success(launch_shuffle_double(out));
    for (int i = 0; i < 64; i++) {
        const double want = 0.1 * (i / 32 * 32 + (i + 1) % 32);

        assert_memory_equal(&out[i], &want, sizeof want);
    }
    cudaFree(out);
}

TEST(test_half_warps)
{
    int *out = acquire(32 * sizeof *out, 0);

    expect_success(launch_half_warps(out));
    for (int i = 0; i < 32; i++)
        assert_int_equal(out[i], 1000 + (i < 16 ? i ^ 1 : (16 + 31) * 16 / 2));
    cudaFree(out);
}

static unsigned lanes_where(unsigned warp, unsigned divisor, unsigned quotient)
{
    unsigned lanes = 0;

    for (unsigned l = 0; l < 32; l++)
        if ((warp + l) / divisor == quotient) lanes |= 1u << l;
    return lanes;
}

TEST(test_warp_votes)
{
    unsigned *out = acquire(64 * VOTE_KINDS * sizeof *out, 0);

    expect_success(launch_warp_votes(out));
    for (unsigned i = 0; i < 64; i++) {
        const unsigned warp = i / 32 * 32;
        const unsigned want[VOTE_KINDS] = {
            warp ? 0x92492492 : 0x49249249,  warp != 0, warp != 0, lanes_where(warp, 5, i / 5),
            warp * 32 + 31 * 32 / 2,         warp,      warp + 31, (unsigned)((int)warp - 40),
            (unsigned)((int)warp + 31 - 40), 64 | warp, 31 | warp, 0xffffffff,
        };

        assert_memory_equal(out + VOTE_KINDS * i, want, sizeof want);
    }
    cudaFree(out);
}

/* A join has the bits of the shuffles that a device makes. */
TEST(test_joins)
{
    double *out = acquire(64 * 3 * sizeof *out, 0);

    expect_success(launch_joins(out));
    for (unsigned i = 0; i < 64; i++) {
        assert_memory_equal(&out[3 * i + 1], &out[3 * i], sizeof *out);
        assert_true(out[3 * i + 2] == 1.0 / (i / 32 * 32 + 31 + 3));
    }
    assert_true(out[0] > 2.618 && out[0] < 2.619);
    cudaFree(out);
}

/* A lane's words, and those of lanes whose numbers differ in some bits. */
static int word_of(int rank, int i)
{
    return i == 0 ? rank : i == 1 ? rank * 7 % 64 : (int)(1u << rank % 32);
}

static void join_by_definition(int rank, int (*joined)[4])
{
    enum { APART = 2 | 4 | 8 };
    memset(*joined, 0, sizeof *joined);
    for (int other = rank / 32 * 32; other < rank / 32 * 32 + 32; other++) {
        if (word_of(other, 1) > (*joined)[3]) (*joined)[3] = word_of(other, 1);
        if ((rank ^ other) & ~APART) continue;
        (*joined)[0] += word_of(other, 0);
        if (word_of(other, 1) > (*joined)[1]) (*joined)[1] = word_of(other, 1);
        (*joined)[2] |= word_of(other, 2);
    }
}

TEST(test_lanes_apart)
{
    int *out = acquire(64 * 7 * sizeof *out, 0);

    expect_success(launch_lanes_apart(out));
    for (int rank = 0; rank < 64; rank++) {
        int joined[4];

        for (int i = 0; i < 3; i++) assert_int_equal(out[7 * rank + i], word_of(rank ^ 8, i));
        join_by_definition(rank, &joined);
        assert_memory_equal(&out[7 * rank + 3], joined, sizeof joined);
    }
    cudaFree(out);
}

/* Kernels round as a device does, whatever the program's thread does, and leave no trace of it. */
TEST(test_arithmetic_is_the_device_s)
{
    enum { N = 64 * 3 };
    double *out = acquire(N * sizeof *out, 0), *other = acquire(N * sizeof *other, 0);

    expect_success(launch_joins(out));
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    expect_success(launch_joins(other));
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
    fesetround(FE_TONEAREST);
    assert_memory_equal(other, out, N * sizeof *out);
    free_memory(out, other);
}

/* ---- atomics, order, waiting ---- */

TEST(test_atomics)
{
    unsigned long long *out = acquire(6 * sizeof *out, 0);
    double *sum = acquire(sizeof *sum, 0);
    float *sum32 = acquire(sizeof *sum32, 0);

    out[2] = 1000000;
    expect_success(launch_atomics(50, 200, out));
    assert_int_equal(out[0], 10000);
    assert_int_equal(out[1], 9999);
    assert_int_equal(out[2], 0);
    assert_true(out[3] == ~0ull);
    assert_int_equal(out[4], 20000);
    assert_int_equal(out[5], 77);

    expect_success(launch_atomic_doubles(50, 200, sum, sum32));
    assert_true(*sum == 5000.0);
    assert_true(*sum32 == 2500.0f);
    free_memory(out, sum, sum32);
}

/* How many of n places are not what they are in order; fails unless all of 0..n-1 are there. */
static int misplaced(const unsigned *order, unsigned n)
{
    int result = 0;
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++) {
        result += order[i] != i;
        sum += order[i];
        assert_true(order[i] < n);
    }
    assert_int_equal(sum, n * (n - 1) / 2);
    return result;
}

static int has_one_worker(void)
{
    const char *workers = getenv("HOSTGPU_WORKERS");

    return workers && !strcmp(workers, "1");
}

TEST(test_order)
{
    enum { N = 500 };
    const char *seed = getenv("HOSTGPU_SEED");
    unsigned *ticket = acquire(sizeof *ticket, 0), *out = acquire(N * sizeof *out, 0);

    expect_success(launch_order(1, N, ticket, out));
    if (seed)
        assert_true(misplaced(out, N) > N / 2);
    else
        assert_int_equal(misplaced(out, N), 0);

    *ticket = 0;
    expect_success(launch_order(N, 1, ticket, out));
    if (seed)
        assert_true(misplaced(out, N) > N / 2);
    else if (has_one_worker())
        assert_int_equal(misplaced(out, N), 0);
    free_memory(ticket, out);
}

TEST(test_spin)
{
    int *flag = acquire(sizeof *flag, 0);

    expect_success(launch_spin(flag));
    assert_int_equal(*flag, 1);
    cudaFree(flag);
}

static void *launch_many(void *failures)
{
    enum { BLOCKS = 5 };
    int *out = NULL;

    cudaMalloc((void **)&out, BLOCKS * 256 * sizeof *out);
    for (int round = 0; round < test_cases(100); round++) {
        int bad = launch_reverse_static(BLOCKS, out) != cudaSuccess;

        for (int i = 0; i < BLOCKS * 256; i++) bad |= out[i] != i / 256 * 256 + 255 - i % 256;
        *(int *)failures += bad;
    }
    cudaFree(out);
    return NULL;
}

TEST(test_host_threads)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    int failures[THREADS] = {0};

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, launch_many, &failures[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(failures[i], 0);
    }
}

TEST(test_intrinsics)
{
    static const double want[] = {
        -0x1p-46, 0,                /* fused, and not */
        -123,     8 + 3100 + 40000, /* integers */
        3,        1,                /* the larger and the smaller number */
        -0.1,     0x77225500,       /* bits */
    };
    enum { COUNT = sizeof want / sizeof *want };
    double *out = acquire(COUNT * sizeof *out, 0);

    expect_success(launch_intrinsics(out));
    for (int i = 0; i < COUNT; i++)
        if (!(out[i] == want[i])) fail_msg("intrinsic %d gives %a, not %a", i, out[i], want[i]);
    cudaFree(out);
}
