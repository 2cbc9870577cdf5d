/* check_invariance.c - the bits of a product depend on its operands and on (m, n, k) alone: not on
 * layout, transposes, alignment, streams, threads, the workspace limit, the batch form, or where
 * the scalars are. And they are the golden bits of tests/golden/MODE.txt (a hyphen for a colon), on
 * every device; `check_invariance_hostgpu --print MODE` writes that file. */
#include "tests/support/test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "lib/engines/engine.h"
#include "tests/kernels/support/device.h"
#include "tests/kernels/support/modes.h"
#include "tests/kernels/support/problem.h"
#include "tests/golden/golden.h"

/* The mode that the tests are running for. */
static const mode *tested;

enum { ALL_MEMORY = 0 };

/* What must not matter. */
typedef struct {
    cudaStream_t stream;
    size_t limit;               /* of the workspace, in bytes; ALL_MEMORY: the device's default */
    const double *alpha, *beta; /* in device memory; NULL: by value */
    td_counters *counters;      /* in device memory; NULL: none */
} circumstances;

static td_op op_of(tandem_op op) { return op == TANDEM_OP_N ? TD_OP_N : TD_OP_T; }

static td_product gemm_of(const problem *p, double *a, double *b, double *c,
                          const circumstances *how)
{
    const product *of = &p->of;
    return (td_product){
        .op_a = op_of(of->op_a),
        .op_b = op_of(of->op_b),
        .m = of->m,
        .n = of->n,
        .k = of->k,
        .alpha = {.value.binary64 = of->alpha, .device = how->alpha},
        .beta = {.value.binary64 = of->beta, .device = how->beta},
        .a = device_matrix(&p->a, a),
        .b = device_matrix(&p->b, b),
        .c = device_matrix(&p->c, c),
        .batch = 1,
        .stream = how->stream,
    };
}

static td_run_status run(const td_product *gemm, const circumstances *how)
{
    td_parameter parameter;
    const td_engine *engine = td_engine_parse(tested->name, &parameter);
    td_device *device = td_device_current();
    if (!engine || !device) return TD_RUN_FAILED;
    return td_engine_run(engine, gemm, parameter, device,
                         how->limit == ALL_MEMORY ? device->workspace_bytes : how->limit,
                         how->counters);
}

/* C's hash, *status how the run ended. For any thread: no checks that leave it. */
static uint64_t hash_of(const product *of, const circumstances *how, td_run_status *status)
{
    uint64_t hash = 0;
    problem p = problem_make(of);
    const test_matrix *const from[] = {&p.a, &p.b, &p.c};
    double *to[3] = {NULL, NULL, NULL};
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 3 && error == cudaSuccess; i++) {
        const size_t bytes = from[i]->count * sizeof(double);
        error = cudaMalloc((void **)&to[i], bytes);
        if (error == cudaSuccess)
            error = cudaMemcpy(to[i], from[i]->storage, bytes, cudaMemcpyHostToDevice);
    }
    const td_product gemm = gemm_of(&p, to[0], to[1], to[2], how);
    *status = error == cudaSuccess ? run(&gemm, how) : TD_RUN_FAILED;
    if (error == cudaSuccess) error = cudaStreamSynchronize(how->stream);
    if (error == cudaSuccess)
        error = cudaMemcpy(p.c.storage, to[2], p.c.count * sizeof(double), cudaMemcpyDeviceToHost);
    if (error == cudaSuccess && matrix_damage(&p.c) == -1) hash = matrix_hash(&p.c);
    if (error != cudaSuccess) *status = TD_RUN_BROKEN;
    for (int i = 0; i < 3; i++) (void)cudaFree(to[i]);
    problem_free(&p);
    return hash;
}

static const circumstances ordinary = {NULL, ALL_MEMORY, NULL, NULL, NULL};

static uint64_t known[GOLDEN_PRODUCTS]; /* hashes of the tested mode; 0: not yet */

static uint64_t ordinary_hash(int i)
{
    td_run_status status = TD_RUN_DONE;
    if (!known[i]) known[i] = hash_of(&golden_products[i], &ordinary, &status);
    CHECK(status == TD_RUN_DONE, "%s ended with %d", product_text(&golden_products[i]),
          (int)status);
    return known[i];
}

static void check_same(int i, const product *of, const circumstances *how, const char *what)
{
    td_run_status status;
    const uint64_t want = ordinary_hash(i), got = hash_of(of, how, &status);
    CHECK(status == TD_RUN_DONE, "%s: ended with %d: %s", what, (int)status, product_text(of));
    CHECK(got == want, "%s gives other bits: %s", what, product_text(of));
}

/* Sanitizers make everything slow, and look for other things than bits: they see two products that
 * are not deep. */
static bool is_seen(int i) { return !test_is_brief() || i == 7 || i == 12; }

static int next_seen(int i)
{
    do i++;
    while (i < GOLDEN_PRODUCTS && !is_seen(i));
    return i;
}

/* Each variation has a fourth of the products with one mode, others with the next; for sanitizers,
 * all of what is seen with one mode of each family. */
static bool has_turn(int i)
{
    if (test_is_brief()) return mode_stands_for_others(tested) || tested->is_exact;
    return mode_has_turn(tested, i, 4);
}

/* True if the file is called as the first `length` characters of the mode are, a hyphen for each
 * colon. */
static bool is_called(const char *file, const char *mode, size_t length)
{
    if (strlen(file) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (file[i] != (mode[i] == ':' ? '-' : mode[i])) return false;
    return true;
}

/* The first row of the tested mode. What has no file of its own has the bits of the mode without
 * its parameter, which then says how they are computed. */
static int find_golden(void)
{
    const size_t lengths[] = {strlen(tested->name), strcspn(tested->name, ":")};
    for (int l = 0; l < 2; l++)
        for (int g = 0; g < GOLDEN_ROWS; g++)
            if (is_called(golden_rows[g].file, tested->name, lengths[l])) return g;
    return GOLDEN_ROWS;
}

TEST(bits_are_golden)
{
    const int first = find_golden();
    int count = 0;
    while (first + count < GOLDEN_ROWS &&
           strcmp(golden_rows[first + count].file, golden_rows[first].file) == 0)
        count++;
    CHECK(count == (int)GOLDEN_PRODUCTS, "%d golden hashes for %d products", count,
          (int)GOLDEN_PRODUCTS);
    for (int i = 0; i < GOLDEN_PRODUCTS; i = next_seen(i)) {
        const char *product = golden_rows[first + i].product;
        const uint64_t want = golden_rows[first + i].hash;
        CHECK(strcmp(product, product_text(&golden_products[i])) == 0, "'%s' stands for '%s'",
              product, product_text(&golden_products[i]));
        CHECK(ordinary_hash(i) == want, "%s: hash %016llx, golden %016llx", product,
              (unsigned long long)ordinary_hash(i), (unsigned long long)want);
    }
}

TEST(layout_does_not_matter)
{
    if (tested->is_variant) return;
    for (int i = 0; i < GOLDEN_PRODUCTS; i = next_seen(i))
        for (int v = test_is_brief() ? 2 : 1; v < 3; v++) {
            if (!has_turn(i + v)) continue;
            product of = golden_products[i];
            of.pad_a = 5 * v;
            of.pad_b = 3 + v;
            of.pad_c = 7 * (v - 1);
            of.guard = v;
            check_same(i, &of, &ordinary, "another layout");
        }
}

TEST(transposes_do_not_matter)
{
    if (tested->is_variant) return;
    for (int i = 0; i < GOLDEN_PRODUCTS; i = next_seen(i))
        for (int v = 0; v < 4; v++) {
            product of = golden_products[i];
            of.op_a = v & 1 ? TANDEM_OP_T : TANDEM_OP_N;
            of.op_b = v & 2 ? TANDEM_OP_T : TANDEM_OP_N;
            const bool same_a = of.op_a == golden_products[i].op_a,
                       same_b = of.op_b == golden_products[i].op_b;
            if (test_is_brief() ? same_a || same_b : same_a && same_b) continue;
            if (!has_turn(i + v)) continue;
            check_same(i, &of, &ordinary, "transposed storage");
        }
}

TEST(streams_do_not_matter)
{
    circumstances how = ordinary;
    if (tested->is_variant) return;
    CHECK_CUDA(cudaStreamCreateWithFlags(&how.stream, cudaStreamNonBlocking));
    for (int i = 0; i < GOLDEN_PRODUCTS; i = next_seen(i))
        if (has_turn(i)) check_same(i, &golden_products[i], &how, "another stream");
    CHECK_CUDA(cudaStreamDestroy(how.stream));
}

/* Threads: every product runs in two of them, in another order. */

enum { THREADS = 3 };

typedef struct {
    int number;
    uint64_t hashes[GOLDEN_PRODUCTS];
    td_run_status status;
} worker;

static bool is_of_thread(int i, int number)
{
    return is_seen(i) && has_turn(i) && i % THREADS != number;
}

static void *work(void *argument)
{
    worker *w = argument;
    circumstances how = ordinary;
    w->status = TD_RUN_FAILED;
    if (cudaStreamCreateWithFlags(&how.stream, cudaStreamNonBlocking) != cudaSuccess) return NULL;
    w->status = TD_RUN_DONE;
    for (int n = 0; n < GOLDEN_PRODUCTS; n++) {
        const int i = (3 * w->number + n) % GOLDEN_PRODUCTS;
        if (!is_of_thread(i, w->number)) continue;
        w->hashes[i] = hash_of(&golden_products[i], &how, &w->status);
        if (w->status != TD_RUN_DONE) return NULL;
    }
    (void)cudaStreamDestroy(how.stream);
    return NULL;
}

TEST(threads_do_not_matter)
{
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    if (tested->is_variant) return;
    for (int t = 0; t < THREADS; t++) {
        workers[t].number = t;
        CHECK(pthread_create(&threads[t], NULL, work, &workers[t]) == 0, "no thread");
    }
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++) {
        CHECK(workers[t].status == TD_RUN_DONE, "thread %d ended with %d", t,
              (int)workers[t].status);
        for (int i = 0; i < GOLDEN_PRODUCTS; i++)
            CHECK(!is_of_thread(i, t) || workers[t].hashes[i] == ordinary_hash(i), "thread %d, %s",
                  t, product_text(&golden_products[i]));
    }
}

/* Workspace */

static uint64_t most_memory_used(const td_device *device)
{
    uint64_t high = 0;
    CHECK_CUDA(cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrUsedMemHigh, &high));
    return high;
}

static void forget_memory_used(const td_device *device)
{
    uint64_t zero = 0;
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrUsedMemHigh, &zero));
}

/* Runs under one limit; 0 if that is too little, else the memory used. */
static uint64_t run_limited(int i, size_t limit)
{
    const td_device *device = td_device_current();
    circumstances how = ordinary;
    td_run_status status;
    const uint64_t want = ordinary_hash(i);
    how.limit = limit;
    forget_memory_used(device);
    const uint64_t got = hash_of(&golden_products[i], &how, &status);
    if (status == TD_RUN_NO_MEMORY) return 0;
    CHECK(status == TD_RUN_DONE, "ended with %d", (int)status);
    CHECK(got == want, "a limit of %zu bytes gives other bits: %s", limit,
          product_text(&golden_products[i]));
    const uint64_t used = most_memory_used(device);
    CHECK((used > 0) != tested->is_binary64 && used <= limit, "%llu bytes used, allowed %zu: %s",
          (unsigned long long)used, limit, product_text(&golden_products[i]));
    return used;
}

/* Two mebibytes are always enough. */
enum { ENOUGH = 2 << 20 };

/* Below what the run before needed, so that no two are cut alike; ENOUGH is not left out. */
static size_t next_limit(size_t limit, uint64_t used)
{
    const size_t next = used - 1 < limit / 2 ? (size_t)used - 1 : limit / 2;
    return used > ENOUGH && next < ENOUGH ? ENOUGH : next;
}

/* From plenty to too little: products are cut along the batch, k, rows and columns, in turn. */
TEST(workspace_does_not_matter)
{
    int tiled = 0, taken = 0;
    if (tested->is_binary64) { /* it takes no memory */
        for (int i = 0; i < GOLDEN_PRODUCTS; i++) run_limited(i, 1);
        return;
    }
    for (int i = 0; i < GOLDEN_PRODUCTS; i++) {
        uint64_t used;
        /* Sanitizers are to see cuts of rows, columns and a k that is deep, and repairs in
         * parts. */
        if (!has_turn(i) || (test_is_brief() && i != 2 && i != 7)) continue;
        size_t limit = (size_t)16 << 20;
        taken++;
        for (int runs = 0; limit >= 1 << 14 && (used = run_limited(i, limit)); runs++) {
            limit = next_limit(limit, used);
            tiled += runs > 0;
        }
        CHECK(limit < ENOUGH, "2 MiB are not enough for %s", product_text(&golden_products[i]));
    }
    test_note("%d runs in less workspace than the first", tiled);
    CHECK(tiled > (taken - 1) / 2 || taken == 0, "products were not cut");
}

/* Other devices: fewer or more multiprocessors spread superblocks otherwise, less shared memory
 * means other tiles and running sums in device memory. */
TEST(device_does_not_matter)
{
    if (tested->is_variant) return;
    /* Shared memory in KiB, 0: as it is. One or two multiprocessors leave a last tile of three,
     * which is spread. */
    static const struct {
        int multiprocessors, shared;
    } shapes[] = {{500, 164}, {1, 164}, {500, 64}, {1, 64}, {1, 0}, {2, 0}};
    td_device *device = td_device_current();
    const td_device real = *device;
    for (int i = 0; i < GOLDEN_PRODUCTS; i = next_seen(i)) {
        if (!has_turn(i + 1)) continue;
        const uint64_t want = ordinary_hash(i);
        for (size_t shape = (size_t)i / 2 % 2; shape < sizeof shapes / sizeof *shapes; shape += 2) {
            td_run_status status;
            device->multiprocessors = shapes[shape].multiprocessors;
            if (shapes[shape].shared)
                device->shared_per_multiprocessor = (size_t)shapes[shape].shared << 10;
            const uint64_t got = hash_of(&golden_products[i], &ordinary, &status);
            *device = real;
            CHECK(status == TD_RUN_DONE && got == want, "other bits on a device of shape %d: %s",
                  (int)shape, product_text(&golden_products[i]));
        }
    }
}

/* Batches */

enum { BATCH = 3 };

/* Has members lie a stride apart, or wherever `array`, in device memory, says. */
static void place_members(td_matrix *members, double *first, int64_t stride, void **array)
{
    double *pointers[BATCH];
    members->stride = stride;
    if (!array) return;
    for (int z = 0; z < BATCH; z++) pointers[z] = first + z * stride;
    CHECK_CUDA(cudaMemcpy(array, pointers, sizeof pointers, cudaMemcpyHostToDevice));
    members->array = array;
    members->data = NULL;
}

/* Runs BATCH copies of a product whose matrices lie `apart` elements behind one another, in steps
 * or by pointers; A is shared if share_a. */
static void check_batch(int i, bool by_pointers, bool share_a)
{
    const product *of = &golden_products[i];
    problem p = problem_make(of);
    const test_matrix *const from[] = {&p.a, &p.b, &p.c};
    test_matrix all[3];
    double *to[3];
    void **arrays = NULL;
    for (int x = 0; x < 3; x++) {
        all[x] = matrix_make((int64_t)from[x]->count, BATCH, (int64_t)from[x]->count + 5, 0);
        for (int z = 0; z < BATCH; z++)
            memcpy(matrix_at(&all[x], 0, z), from[x]->storage, from[x]->count * sizeof(double));
        to[x] = device_upload(&all[x]);
    }
    td_product gemm = gemm_of(&p, to[0], to[1], to[2], &ordinary);
    td_matrix *const members[] = {&gemm.a, &gemm.b, &gemm.c};
    CHECK_CUDA(cudaMalloc((void **)&arrays, 3 * BATCH * sizeof(double *)));
    gemm.batch = BATCH;
    for (int x = 0; x < 3; x++)
        place_members(members[x], to[x], x == 0 && share_a ? 0 : all[x].ld,
                      by_pointers ? arrays + x * BATCH : NULL);
    const td_run_status status = run(&gemm, &ordinary);
    CHECK(status == TD_RUN_DONE, "a batch ended with %d: %s", (int)status, product_text(of));
    device_check_clean("a batch");
    device_download(&all[2], to[2]);
    for (int z = 0; z < BATCH; z++) {
        memcpy(p.c.storage, matrix_at(&all[2], 0, z), p.c.count * sizeof(double));
        CHECK(matrix_hash(&p.c) == ordinary_hash(i), "member %d of a batch %s: %s", z,
              by_pointers ? "by pointers" : "in steps", product_text(of));
    }
    CHECK(matrix_damage(&all[2]) == -1, "a batch wrote between its members");
    for (int x = 0; x < 3; x++) {
        device_free(to[x]);
        matrix_free(&all[x]);
    }
    device_free(arrays);
    problem_free(&p);
}

TEST(batch_form_does_not_matter)
{
    for (int i = 0; i < GOLDEN_PRODUCTS; i = next_seen(i))
        if (has_turn(i)) check_batch(i, i / 2 % 2 == 0, i / 4 % 2 == 0);
}

/* Scalars and counters in device memory */

static void check_device_scalars(int i, const product *of)
{
    const double scalars[] = {of->alpha, of->beta};
    double *device = NULL;
    circumstances how = ordinary;
    td_run_status status, by_value_status;
    device = device_copy(scalars, sizeof scalars);
    how.alpha = device;
    how.beta = device + 1;
    const uint64_t want = hash_of(of, &ordinary, &by_value_status),
                   got = hash_of(of, &how, &status);
    CHECK(status == TD_RUN_DONE && by_value_status == TD_RUN_DONE, "%d", i);
    CHECK(got == want, "scalars in device memory give other bits: %s", product_text(of));
    device_free(device);
}

TEST(place_of_scalars_does_not_matter)
{
    if (tested->is_variant) return;
    static const double special[][2] = {
        {0.0, 0.0}, {0.0, 1.5}, {1.0, 0.0}, {-2.5, 1.0}, {INFINITY, 0.0}};
    for (int i = 0; i < GOLDEN_PRODUCTS; i = next_seen(i))
        if (has_turn(i + 1)) check_device_scalars(i, &golden_products[i]);
    for (int s = 0; s < 5; s += test_is_brief() ? 4 : 1)
        for (int i = test_is_brief() ? 8 : 2; i < 9; i += 3) {
            if (!has_turn(i + s)) continue;
            product of = golden_products[i];
            if (test_is_brief()) of.k = 70;
            of.alpha = special[s][0];
            of.beta = special[s][1];
            check_device_scalars(i, &of);
        }
}

TEST(bits_and_repairs_are_those_of_the_definition)
{
    td_counters *device = NULL, before = {.repaired = 5}, after;
    circumstances how = ordinary;
    long long all = 0;
    CHECK_CUDA(cudaMalloc((void **)&device, sizeof *device));
    how.counters = device;
    for (int i = 0; i < GOLDEN_PRODUCTS; i = next_seen(i)) {
        CHECK_CUDA(cudaMemcpy(device, &before, sizeof before, cudaMemcpyHostToDevice));
        check_same(i, &golden_products[i], &how, "counting");
        CHECK_CUDA(cudaMemcpy(&after, device, sizeof after, cudaMemcpyDeviceToHost));
        const long long got = (long long)(after.repaired - before.repaired);
        all += got;
        if (!mode_has_turn(tested, i, 2)) continue; /* the definition takes long */
        problem p = problem_make(&golden_products[i]);
        const ref_gemm gemm = problem_gemm(&p, &p.c);
        ref_account account = mode_product(tested, &gemm);
        const long long want = account.repaired;
        CHECK(got == want || want < 0, "%lld elements repaired, the definition says %lld: %s", got,
              want, product_text(&golden_products[i]));
        CHECK(matrix_hash(&p.c) == ordinary_hash(i), "the definition has other bits: %s",
              product_text(&golden_products[i]));
        ref_account_free(&account);
        problem_free(&p);
    }
    CHECK((all > 0) == mode_repairs(tested) || test_is_brief(), "%lld elements were repaired", all);
    device_free(device);
}

/* The golden file of a mode, or its beginning: so many products. */
static int print_golden(const char *name, int count)
{
    do tested = mode_after(tested);
    while (tested && strcmp(tested->name, name) != 0);
    if (!tested) return 1;
    printf("/* Golden bits of mode %s: FNV-1a (64 bits) of the bytes of C, column after column; "
           "the products are made\n"
           " * by tests/lib/api/check_invariance.c, which also wrote this file: "
           "check_invariance_hostgpu --print %s. */\n",
           name, name);
    for (int i = 0; i < GOLDEN_PRODUCTS && i < count; i++) {
        td_run_status status;
        const uint64_t hash = hash_of(&golden_products[i], &ordinary, &status);
        if (status != TD_RUN_DONE) return 1;
        printf("{\"%s\", UINT64_C(0x%016llx)},\n", product_text(&golden_products[i]),
               (unsigned long long)hash);
    }
    return 0;
}

static int forget(void **unused)
{
    (void)unused;
    memset(known, 0, sizeof known);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--print") == 0)
        return print_golden(argv[2], argc > 3 ? atoi(argv[3]) : GOLDEN_PRODUCTS);
    return mode_run_tests(&tested, (test_group){.set_up = forget});
}
