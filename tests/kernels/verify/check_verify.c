/* check_verify.c - verified eigenvalues: every bound against exact counts of eigenvalues, planted
 * errors, and what is refused. */
#include "tests/support/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "include/tandem.h"
#include "lib/engines/engine.h"
#include "lib/eigen/upward.h"
#include "lib/eigen/verify.h"
#include "tests/kernels/support/device.h"
#include "eigen_case.h"

static int cases = 300;
static uint64_t first_seed;

/* The bounds of one case; status says whether there are any. */
typedef struct {
    tandem_status status;
    double lower[EIGEN_MOST], upper[EIGEN_MOST];
    int64_t cluster[EIGEN_MOST];
} bounds;

/* ---- device memory ---- */

typedef struct {
    double *a, *b, *x, *d;
} on_device;

static double *upload(const double *from, int count)
{
    return device_copy(from, (size_t)count * sizeof *from);
}

static on_device put(const eigen_case *c)
{
    const int count = c->n * c->n;
    return (on_device){.a = upload(c->a, count),
                       .b = c->has_b ? upload(c->b, count) : NULL,
                       .x = upload(c->x, count),
                       .d = upload(c->d, c->n)};
}

static void drop(on_device *at) { device_free(at->a, at->b, at->x, at->d); }

/* ---- runs ---- */

static bounds verify(const char *mode, const eigen_case *c)
{
    bounds found = {.status = TANDEM_OK};
    on_device at = put(c);
    const int n = c->n;
    found.status = tandem_verify_symmetric(mode, n, at.a, n, at.b, n, at.x, n, at.d, found.lower,
                                           found.upper, found.cluster, NULL);
    device_check_clean(c->name);
    drop(&at);
    return found;
}

/* Which element of R is moved, and how: a number of units in the last place. */
static struct {
    int place, units;
} planted;

static void plant(double *r, int n, cudaStream_t stream)
{
    double x = 0.0;
    double *const at = r + planted.place % (n * n);
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaMemcpy(&x, at, sizeof x, cudaMemcpyDeviceToHost));
    x = nextafter(x, planted.units > 0 ? copysign(INFINITY, x) : 0.0);
    CHECK_CUDA(cudaMemcpy(at, &x, sizeof x, cudaMemcpyHostToDevice));
}

/* The bounds of a case with an error planted in R. */
static bounds verify_planted(const eigen_case *c, int place, int units)
{
    bounds found = {.status = TANDEM_NOT_PROVEN};
    on_device at = put(c);
    double gram = 0.0;
    td_verified verified;
    td_device *device = td_device_current();
    const td_verification v = {.engine = &td_engine_faithful,
                               .n = c->n,
                               .a = {.data = at.a, .ld = c->n},
                               .b = {.data = at.b, .ld = c->n},
                               .x = {.data = at.x, .ld = c->n},
                               .d = at.d,
                               .device = device,
                               .limit = td_device_limit(device, 0),
                               .plant = plant};
    planted.place = place;
    planted.units = units;
    CHECK(td_verify_measure(&v, &verified) == TD_RUN_DONE, "%s", c->name);
    if (td_eigen_bounds_find(&verified.measures, found.lower, found.upper, found.cluster, &gram) ==
        TD_BOUNDS_FOUND)
        found.status = TANDEM_OK;
    td_verified_free(&verified);
    drop(&at);
    return found;
}

/* ---- judgement ---- */

/* Clusters are intervals in order that share no number, each of one kind. */
static void check_form(const bounds *f, const eigen_case *c)
{
    CHECK(f->cluster[0] == 0, "%s", c->name);
    for (int i = 0; i < c->n; i++) {
        CHECK(f->lower[i] <= f->upper[i], "%s: [%a, %a]", c->name, f->lower[i], f->upper[i]);
        CHECK(isfinite(f->lower[i]) && isfinite(f->upper[i]), "%s", c->name);
        if (i == 0) continue;
        if (f->cluster[i] == f->cluster[i - 1])
            CHECK(f->lower[i] == f->lower[i - 1] && f->upper[i] == f->upper[i - 1], "%s", c->name);
        else
            CHECK(f->cluster[i] == f->cluster[i - 1] + 1 && f->upper[i - 1] < f->lower[i], "%s",
                  c->name);
    }
}

/* The first cluster that is not where the reference has it, by the number of its first eigenvalue;
 * -1: all are. The i-th eigenvalue is in its interval if at most i are below the lower end, and
 * more than i are not above the upper end. */
static int first_wrong(const bounds *f, int n, const ref_spectrum *s)
{
    for (int i = 0, last; i < n; i = last + 1) {
        for (last = i; last + 1 < n && f->cluster[last + 1] == f->cluster[i];) last++;
        if (ref_spectrum_count(s, f->lower[i], false) > i ||
            ref_spectrum_count(s, f->upper[i], true) <= last)
            return i;
    }
    return -1;
}

/* Where the reference contradicts, it is asked again with bits for all of binary64's range: an
 * interval around an exact eigenvalue may be as narrow as 2^-1070. */
static void check_truth(const bounds *f, const eigen_case *c, const ref_spectrum *s,
                        const char *what)
{
    enum { ALL_BITS = 2600 };
    if (f->status != TANDEM_OK) return;
    CHECK(s, "%s, %s: B is not positive definite, and there are bounds", c->name, what);
    check_form(f, c);
    int wrong = first_wrong(f, c->n, s);
    if (wrong == -1) return;
    ref_spectrum *precise = ref_spectrum_make(c->n, c->a, c->has_b ? c->b : NULL, ALL_BITS);
    CHECK(precise, "%s, %s: B is not positive definite, and there are bounds", c->name, what);
    wrong = first_wrong(f, c->n, precise);
    CHECK(wrong == -1, "%s, %s: eigenvalue %d is said to be in [%a, %a]; %d are below, %d to there",
          c->name, what, wrong, f->lower[wrong], f->upper[wrong],
          ref_spectrum_count(precise, f->lower[wrong], false),
          ref_spectrum_count(precise, f->upper[wrong], true));
    ref_spectrum_free(precise);
}

/* ---- a search for a wrong bound ---- */

typedef struct {
    int found, refused, separated, eigenvalues;
} tally;

static void count(tally *t, const bounds *f, int n)
{
    t->found += f->status == TANDEM_OK;
    t->refused += f->status != TANDEM_OK;
    for (int i = 0; i < n && f->status == TANDEM_OK; i++) {
        t->eigenvalues++;
        t->separated += (i == 0 || f->cluster[i] != f->cluster[i - 1]) &&
                        (i == n - 1 || f->cluster[i] != f->cluster[i + 1]);
    }
}

/* In turn: native products, the other way to the same bits, and errors of one unit in R and in a
 * vector. */
static void check_variation(eigen_case *c, const bounds *plain, const ref_spectrum *s, int which,
                            test_random *r)
{
    const int place = random_int(r, 0, c->n * c->n - 1);
    bounds f;
    switch (which % 5) {
    case 0:
        f = verify("native", c);
        check_truth(&f, c, s, "native");
        break;
    case 1:
        f = verify("faithful:fp64", c);
        CHECK(memcmp(&f, plain, sizeof f) == 0, "%s: faithful:fp64 has other bounds", c->name);
        break;
    case 2:
        f = verify_planted(c, place, 1);
        check_truth(&f, c, s, "R one unit larger");
        break;
    case 3:
        f = verify_planted(c, place, -1);
        check_truth(&f, c, s, "R one unit smaller");
        break;
    default:
        c->x[place] = nextafter(c->x[place], random_int(r, 0, 1) ? INFINITY : -INFINITY);
        f = verify("faithful", c);
        check_truth(&f, c, s, "a vector one unit off");
    }
}

TEST(no_bound_is_wrong)
{
    static eigen_case c;
    tally all = {0}, tame = {0};
    for (int i = 0; i < cases; i++) {
        test_random r = random_start(first_seed + (uint64_t)i);
        eigen_case_make(first_seed + (uint64_t)i, &c);
        ref_spectrum *s = ref_spectrum_make(c.n, c.a, c.has_b ? c.b : NULL, c.bits);
        const bounds f = verify("faithful", &c);
        CHECK(f.status == TANDEM_OK || f.status == TANDEM_NOT_PROVEN, "%s: %s", c.name,
              tandem_last_message());
        check_truth(&f, &c, s, "faithful");
        count(&all, &f, c.n);
        if (c.is_tame) {
            CHECK(f.status == TANDEM_OK, "%s: %s", c.name, tandem_last_message());
            count(&tame, &f, c.n);
        }
        if (c.is_apart) {
            tally own = {0};
            count(&own, &f, c.n);
            CHECK(own.separated == c.n, "%s: %d are separated", c.name, own.separated);
        }
        check_variation(&c, &f, s, i, &r);
        ref_spectrum_free(s);
    }
    test_note("%d proven, %d refused; %d of %d eigenvalues separated (tame ones: %d of %d)",
              all.found, all.refused, all.separated, all.eigenvalues, tame.separated,
              tame.eigenvalues);
    CHECK(tame.found > 0, "no case was tame");
}

/* ---- exact eigenpairs ---- */

/* A = X D X' with X half of a Hadamard matrix: exact in binary64, so that R and G are 0. */
static void make_exact(eigen_case *c)
{
    static const double signs[4][4] = {
        {1, 1, 1, 1}, {1, -1, 1, -1}, {1, 1, -1, -1}, {1, -1, -1, 1}};
    memset(c, 0, sizeof *c);
    strcpy(c->name, "half of a Hadamard matrix");
    c->n = 4;
    for (int j = 0; j < 4; j++) {
        c->d[j] = 4.0 * (j + 1);
        for (int i = 0; i < 4; i++) c->x[i + 4 * j] = signs[i][j] / 2.0;
    }
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++)
            for (int l = 0; l < 4; l++)
                c->a[i + 4 * j] += c->x[i + 4 * l] * c->x[j + 4 * l] * c->d[l];
    for (int i = 0; i < 4; i++) c->b[i + 4 * i] = 1.0;
}

static double width(const bounds *f, int i)
{
    return f->status == TANDEM_OK ? f->upper[i] - f->lower[i] : INFINITY;
}

TEST(planted_errors_widen)
{
    static eigen_case c;
    for (int b = 0; b < 2; b++) {
        make_exact(&c);
        c.has_b = b;
        const bounds exact = verify("faithful", &c);
        CHECK(exact.status == TANDEM_OK, "%s", tandem_last_message());
        for (int i = 0; i < 4; i++) {
            CHECK(exact.lower[i] < c.d[i] && c.d[i] < exact.upper[i], "%d", i);
            CHECK_AT_MOST(width(&exact, i), c.d[i] * 0x1p-49, "%d", i);
        }
        const bounds in_r = verify_planted(&c, 6, 1); /* column 1: from 0 to 2^-1074 */
        CHECK(in_r.status == TANDEM_OK, "R one unit off");
        for (int i = 0; i < 4; i++) CHECK(width(&in_r, i) >= width(&exact, i), "%d", i);
        c.x[6] = nextafter(c.x[6], INFINITY);
        const bounds in_x = verify("faithful", &c);
        CHECK(width(&in_x, 1) > width(&exact, 1), "a vector one unit off");
        make_exact(&c);
        c.has_b = b;
        c.d[1] = nextafter(c.d[1], INFINITY);
        const bounds in_d = verify("faithful", &c);
        CHECK(width(&in_d, 1) > width(&exact, 1), "a value one unit off");
    }
}

/* What a unit of R does to the radius where R's element is most of its column: from x to its
 * neighbour. */
TEST(a_unit_of_r_counts)
{
    static eigen_case c;
    make_exact(&c);
    c.d[1] = 8.5; /* column 1 of R: four elements of a quarter */
    const bounds before = verify("faithful", &c), after = verify_planted(&c, 6, 1);
    CHECK(before.status == TANDEM_OK && after.status == TANDEM_OK, "%s", tandem_last_message());
    for (int i = 0; i < 4; i++) CHECK(width(&after, i) >= width(&before, i), "%d", i);
    memset(c.a, 0, sizeof c.a);
    memset(c.x, 0, sizeof c.x);
    for (int i = 0; i < 4; i++) {
        c.x[5 * i] = 1.0;
        c.a[5 * i] = i == 1 ? 0.0 : c.d[i];
    }
    c.d[1] = 1.0; /* R's only element is -1 */
    const bounds alone = verify("faithful", &c), moved = verify_planted(&c, 5, 1);
    CHECK(moved.lower[0] < alone.lower[0], "%a to %a", alone.lower[0], moved.lower[0]);
}

/* ---- what is refused ---- */

static void check_refused(const eigen_case *c, tandem_status status, const char *word)
{
    const bounds f = verify("faithful", c);
    CHECK(f.status == status, "%s: status %d, %s", word, (int)f.status, tandem_last_message());
    CHECK(strstr(tandem_last_message(), word), "'%s' is not in '%s'", word, tandem_last_message());
    for (int i = 0; i < c->n; i++)
        CHECK(f.lower[i] == 0.0 && f.upper[i] == 0.0 && f.cluster[i] == 0, "something is written");
}

TEST(bad_input_has_no_bound)
{
    static eigen_case c;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        make_exact(&c);
        c.a[9] = c.a[6] = bad[i];
        check_refused(&c, TANDEM_INVALID_VALUE, "a(2, 1) is NaN or infinite");
        make_exact(&c);
        c.has_b = true;
        c.b[15] = bad[i];
        check_refused(&c, TANDEM_INVALID_VALUE, "b(3, 3) is NaN or infinite");
        make_exact(&c);
        c.x[9] = bad[i];
        check_refused(&c, TANDEM_INVALID_VALUE, "column 2 of x");
        make_exact(&c);
        c.d[3] = bad[i];
        check_refused(&c, TANDEM_INVALID_VALUE, "d[3]");
    }
    make_exact(&c);
    c.a[6] = nextafter(c.a[6], INFINITY);
    check_refused(&c, TANDEM_INVALID_VALUE, "a(2, 1) is not a(1, 2)");
    make_exact(&c);
    c.has_b = true;
    c.b[3] = 0x1p-1074;
    check_refused(&c, TANDEM_INVALID_VALUE, "b(3, 0) is not b(0, 3)");
}

TEST(nothing_is_proven_from_bad_vectors)
{
    static eigen_case c;
    make_exact(&c);
    for (int i = 0; i < 4; i++) c.x[i] = c.x[i + 4]; /* singular */
    check_refused(&c, TANDEM_NOT_PROVEN, "X is too far");
    make_exact(&c);
    memset(c.x, 0, sizeof c.x);
    check_refused(&c, TANDEM_NOT_PROVEN, "X is too far");
    make_exact(&c);
    c.has_b = true;
    c.b[0] = -1.0; /* indefinite */
    check_refused(&c, TANDEM_NOT_PROVEN, "not positive definite");
    make_exact(&c);
    c.has_b = true;
    c.b[5] = 0.0; /* semidefinite */
    check_refused(&c, TANDEM_NOT_PROVEN, "not positive definite");
    make_exact(&c);
    c.d[2] = DBL_MAX;
    check_refused(&c, TANDEM_NOT_PROVEN, "overflows");
    make_exact(&c);
    for (int i = 0; i < 16; i++) c.a[i] *= 0x1p1020;
    check_refused(&c, TANDEM_NOT_PROVEN, "overflows");
}

static void check_argument(const char *mode, int64_t n, int64_t ld, int missing, const char *word)
{
    static eigen_case c;
    make_exact(&c);
    on_device at = put(&c);
    double lower[4], upper[4];
    int64_t cluster[4];
    const tandem_status status = tandem_verify_symmetric(
        mode, n, missing == 1 ? NULL : at.a, ld, NULL, 0, missing == 2 ? NULL : at.x, 4,
        missing == 3 ? NULL : at.d, missing == 4 ? NULL : lower, missing == 5 ? NULL : upper,
        missing == 6 ? NULL : cluster, NULL);
    CHECK(status == TANDEM_INVALID_VALUE, "%s: status %d", word, (int)status);
    CHECK(strstr(tandem_last_message(), word), "'%s' is not in '%s'", word, tandem_last_message());
    drop(&at);
}

TEST(arguments_are_checked)
{
    static const char *const names[] = {"",
                                        "a is NULL",
                                        "x is NULL",
                                        "d is NULL",
                                        "lower is NULL",
                                        "upper is NULL",
                                        "cluster is NULL"};
    for (int missing = 1; missing <= 6; missing++)
        check_argument("faithful", 4, 4, missing, names[missing]);
    check_argument("faithful", -1, 4, 0, "n is -1");
    check_argument("faithful", 4, 3, 0, "lda is 3");
    check_argument("df", 4, 4, 0, "mode is 'df'");
    check_argument("ozaki2:14", 4, 4, 0, "mode is 'ozaki2:14'");
    check_argument("auto", 4, 4, 0, "mode is 'auto'");
    check_argument(NULL, 4, 4, 0, "mode is NULL");
    CHECK(tandem_verify_symmetric("faithful", 0, NULL, 1, NULL, 1, NULL, 1, NULL, NULL, NULL, NULL,
                                  NULL) == TANDEM_OK,
          "no eigenvalues");
}

/* Too little memory for R is told before anything is done. */
TEST(memory_is_limited)
{
    static eigen_case c;
    td_verified verified;
    make_exact(&c);
    on_device at = put(&c);
    const td_verification v = {.engine = &td_engine_faithful,
                               .n = c.n,
                               .a = {.data = at.a, .ld = c.n},
                               .x = {.data = at.x, .ld = c.n},
                               .d = at.d,
                               .device = td_device_current(),
                               .limit = 1000};
    CHECK(td_verify_measure(&v, &verified) == TD_RUN_NO_MEMORY, "1000 bytes do not suffice");
    device_check_clean("too little memory");
    drop(&at);
}

/* A capture of another stream goes on, though the host waits. */
TEST(captures_of_others_go_on)
{
    static eigen_case c;
    cudaStream_t captured, stream;
    bounds found = {.status = TANDEM_OK};
    make_exact(&c);
    on_device at = put(&c);
    CHECK_CUDA(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    for (int native = 0; native < 2; native++) {
        found.status =
            tandem_verify_symmetric(native ? "native" : "faithful", c.n, at.a, c.n, NULL, 1, at.x,
                                    c.n, at.d, found.lower, found.upper, found.cluster, stream);
        CHECK(found.status == TANDEM_OK, "%s", tandem_last_message());
    }
    CHECK_CUDA(cudaGraphExecDestroy(device_end_capture(captured)));
    CHECK_CUDA(cudaStreamDestroy(captured));
    CHECK_CUDA(cudaStreamDestroy(stream));
    drop(&at);
}

/* ---- layout ---- */

/* Leading dimensions that differ, and NaN between the columns. */
TEST(bounds_do_not_depend_on_layout)
{
    static eigen_case c;
    for (int b = 0; b < 2; b++) {
        bounds padded = {.status = TANDEM_OK};
        double *at[3];
        do eigen_case_make(first_seed++, &c);
        while (!c.is_tame || c.has_b != b);
        const bounds plain = verify("faithful", &c);
        const double *const from[] = {c.a, c.b, c.x};
        for (int i = 0; i < 3; i++) {
            test_matrix m = matrix_make(c.n, c.n, c.n + 1 + i, 1);
            for (int j = 0; j < c.n * c.n; j++) *matrix_at(&m, j % c.n, j / c.n) = from[i][j];
            at[i] = device_upload(&m);
            matrix_free(&m);
        }
        double *const d = upload(c.d, c.n);
        padded.status = tandem_verify_symmetric(
            "faithful", c.n, at[0] + 1, c.n + 1, b ? at[1] + 1 : NULL, c.n + 2, at[2] + 1, c.n + 3,
            d, padded.lower, padded.upper, padded.cluster, NULL);
        CHECK(memcmp(&plain, &padded, sizeof plain) == 0, "%s: %s", c.name, tandem_last_message());
        for (int i = 0; i < 3; i++) device_free(at[i]);
        device_free(d);
    }
}

/* ---- kernels ---- */

/* Norms of columns that under- and overflow when squared, against long double. */
TEST(norms_are_bounds)
{
    enum { ROWS = 77, COLS = 9 };
    static double m[(ROWS + 1) * COLS];
    td_norm norm[COLS], *on;
    test_random r = random_start(test_seed());
    for (int j = 0; j < COLS; j++)
        for (int i = 0; i < ROWS + 1; i++)
            m[i + (ROWS + 1) * j] =
                i == ROWS || j == 8 ? NAN : ldexp(random_normal(&r), (j - 4) * 265 - (i == 3) * 30);
    for (int i = 0; i < ROWS; i++) m[i + (ROWS + 1) * 7] = 0.0;
    double *const at = upload(m, (ROWS + 1) * COLS);
    CHECK_CUDA(cudaMalloc((void **)&on, sizeof norm));
    CHECK_CUDA(td_norms_run(at, ROWS + 1, ROWS, COLS, on, NULL));
    CHECK_CUDA(cudaMemcpy(norm, on, sizeof norm, cudaMemcpyDeviceToHost));
    for (int j = 0; j < COLS; j++) {
        long double squares = 0.0L, bound = 0.0L;
        for (int i = 0; i < ROWS; i++)
            squares += (long double)m[i + (ROWS + 1) * j] * m[i + (ROWS + 1) * j];
        if (j == 8) CHECK(isnan(norm[j].squares), "a NaN is seen");
        if (j == 8) continue;
        bound = ldexpl((long double)norm[j].squares, 2 * (int)norm[j].exponent);
        CHECK(squares <= bound * (1.0L + (ROWS + 4) * 0x1p-52L) * (1.0L + 0x1p-60L), "%d", j);
        CHECK(squares >= bound * (1.0L - (ROWS + 4) * 0x1p-52L), "%d", j);
    }
    device_free(at, on);
}

/* Every place of a matrix of several tiles, one at a time. */
TEST(faults_are_found)
{
    enum { N = 67, STEP = 13 };
    static double a[N * N];
    td_faults found, *on;
    double *const at = upload(a, N * N);
    CHECK_CUDA(cudaMalloc((void **)&on, sizeof found));
    for (int place = -STEP; place < N * N; place += STEP) {
        const int row = place % N, col = place / N, low = row > col ? row : col;
        const unsigned long long pair = (unsigned long long)(low + (row + col - low) * N);
        for (int kind = 0; kind < 2; kind++) {
            const double value = kind ? INFINITY : 1.0;
            if (place >= 0)
                CHECK_CUDA(cudaMemcpy(at + place, &value, sizeof value, cudaMemcpyHostToDevice));
            CHECK_CUDA(cudaMemset(on, 0xff, sizeof found));
            CHECK_CUDA(td_faults_run(at, N, N, on, NULL));
            CHECK_CUDA(cudaMemcpy(&found, on, sizeof found, cudaMemcpyDeviceToHost));
            const unsigned long long where = (unsigned long long)place;
            CHECK(found.not_finite == (kind && place >= 0 ? where : TD_NO_FAULT), "%d", place);
            CHECK(found.not_symmetric == (row != col && place >= 0 ? pair : TD_NO_FAULT), "%d",
                  place);
        }
        if (place >= 0)
            CHECK_CUDA(cudaMemcpy(at + place, &a[place], sizeof a[place], cudaMemcpyHostToDevice));
    }
    device_free(at, on);
}

int main(int argc, char **argv)
{
    if (test_is_brief()) cases = 40;
    test_take_cases(argc, argv, &cases, &first_seed);
    device_require();
    return test_run();
}
