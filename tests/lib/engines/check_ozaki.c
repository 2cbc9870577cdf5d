/* check_ozaki.c - what is particular to the Ozaki family: every number of moduli and slices, sums
 * at the edge of int32, operands built against fixed-point numbers, members of a batch that want
 * different moduli, and whether defaults are as good as binary64. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/cuda/device.h"
#include "lib/engines/engine.h"
#include "tests/kernels/support/checked.h"
#include "tests/kernels/support/device.h"

static product plain(const char *data, int64_t m, int64_t n, int64_t k)
{
    return (product){.data = data, .m = m, .n = n, .k = k, .alpha = 1.0, .seed = test_seed()};
}

/* The modes without a parameter, and the parameters that they take. */
static const struct {
    const char *name;
    int least, most;
} families[] = {{"ozaki2", 2, 20}, {"ozaki1", 2, 10}, {"ozaki-sgemm", 2, 12}};
enum { FAMILIES = 3 };

static mode with_parameter(int family, int parameter)
{
    static char text[8][32];
    static int next;
    char *name = text[next++ % 8];
    snprintf(name, sizeof text[0], "%s:%d", families[family].name, parameter);
    return mode_of_family(name);
}

/* One product for each of several data, of many parameters. */
TEST(every_parameter)
{
    static const char *const data[] = {"both signs", "full",     "wide 4",
                                       "circulant",  "crossing", "least"};
    const int step = test_is_brief() ? 6 : 1;
    for (int f = 0; f < FAMILIES; f++)
        for (int parameter = families[f].least; parameter <= families[f].most; parameter += step) {
            double worst = 0.0;
            if (!mode_exists(families[f].name)) break;
            const mode m = with_parameter(f, parameter);
            CHECK(mode_exists(m.name), "the library has no %s", m.name);
            for (int d = 0; d < 6; d += test_is_brief() ? 2 : 1) {
                product of = plain(data[d], 19 - d, 17 + d, 130 + 37 * d);
                of.op_a = d & 1 ? TANDEM_OP_T : TANDEM_OP_N;
                of.op_b = d & 2 ? TANDEM_OP_T : TANDEM_OP_N;
                of.beta = d == 1 ? -0.5 : 0.0;
                const double error = checked_product(&m, &of);
                if (d == 0) worst = error;
            }
            test_note("worst error of %s, both signs: %s", m.name, test_power(worst));
        }
}

TEST(other_parameters_do_not_exist)
{
    for (int f = 0; f < FAMILIES; f++) {
        if (!mode_exists(families[f].name)) continue;
        const mode below = with_parameter(f, families[f].least - 1),
                   above = with_parameter(f, families[f].most + 1);
        CHECK(!mode_exists(below.name), "%s", below.name);
        CHECK(!mode_exists(above.name), "%s", above.name);
    }
    static const char *const bad[] = {
        "ozaki2:",   "ozaki2:x",      "ozaki2: 14",     "ozaki2:14 ",
        "ozaki2:+9", "ozaki2:-9",     "ozaki2:9.5",     "ozaki2:9:9",
        "ozaki2:0",  "ozaki",         "ozaki2:0x10",    "ozaki2:99999999999999999999",
        "ozaki1:",   "ozaki1:x",      "faithful:18",    "ozaki-sgemm:",
        "faithful:", "faithful:FP64", "faithful:fp64:3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!mode_exists(bad[i]), "'%s' is accepted", bad[i]);
}

/* Sums at the edge of int32 */

/* Sets all elements of an operand. */
static void set_all(test_matrix *x, double value)
{
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++) *matrix_at(x, i, j) = value;
}

static void check_constants(const char *name, int64_t k, double a, double b)
{
    if (!mode_exists(name)) return;
    const mode m = mode_of_family(name);
    const product of = plain("uniform", 2, 1, k);
    problem p = problem_make(&of);
    checked seen = {0};
    set_all(&p.a, a);
    set_all(&p.b, b);
    checked_problem(&m, &p, &seen);
    problem_free(&p);
}

/* 131072 products of -128 * -128 are 2^31; slices of 0x1.01fdfdfdfdfep0 are -128 but for the
 * first. */
TEST(extreme_slices)
{
    static const int depths[] = {4096, 16385, 131071, 131072, 131073};
    const double digits = 0x1.01fdfdfdfdfep+0;
    for (int i = 0; i < 5; i++) {
        if (i == 2 && !test_takes_everything()) continue; /* the next one's passes, less a term */
        if (test_is_brief() && i != 4) continue;
        check_constants("ozaki1:8", depths[i], -digits, digits);
        check_constants("ozaki-sgemm:5", depths[test_is_brief() ? 1 : i], digits, 1.0 - 0x1p-53);
        if (test_is_brief()) continue;
        check_constants("ozaki1:7", depths[i], digits, digits);
        check_constants("ozaki1:10", depths[i], 1.0 - 0x1p-53, -1.0);
    }
}

enum { LONG_K = 133145 };

/* Modulo 255 a power of two is a rotation: one of these numbers is 127 there, whatever its scale.
 * Each is a row of A, and more than 255 of it a column of B. */
static void check_rotations(const char *name)
{
    enum { TURNS = 8 };
    if (!mode_exists(name)) return;
    const mode m = mode_of_family(name);
    const product of = plain("uniform", TURNS, TURNS, LONG_K);
    problem p = problem_make(&of);
    checked seen = {0};
    for (int turn = 0; turn < TURNS; turn++) {
        const int residue = (127 << turn | 127 >> (8 - turn)) & 255;
        for (int64_t l = 0; l < LONG_K; l++) {
            *matrix_at(&p.a, turn, l) = -residue;
            *matrix_at(&p.b, l, turn) = residue + 255.0 * 1001.0;
        }
    }
    checked_problem(&m, &p, &seen);
    problem_free(&p);
}

/* LONG_K products of 127 * 127 are more than 2^31: passes over k, and pieces of it, have fewer
 * (check_int8.c has the longest sums of all). */
TEST(extreme_residues)
{
    static const int depths[] = {131071, 131072, 131073, LONG_K, 262145};
    if (test_is_brief()) { /* one of each kind of pass over k */
        check_constants("ozaki2:6", depths[2], 1.0 - 0x1p-53, 1.0 - 0x1p-53);
        return;
    }
    check_rotations("ozaki2:6");
    check_rotations("ozaki2:14");
    for (int i = 0; i < 5; i++) {
        if (i != 2 && i != 4 && !test_takes_everything()) continue;
        check_constants("ozaki2:20", depths[i], 1.0 - 0x1p-53, 1.0 - 0x1p-53);
        if (i != 2 && (i != 4 || !test_takes_everything())) continue; /* the same sums */
        check_constants("ozaki2", depths[i], -1.0, 0x1.fffffp0);
        check_constants("faithful", depths[i], 0x1.fffffp0, 0x1.5p0);
        check_constants("faithful:fp64", depths[i], 1.0 - 0x1p-53, -0x1.fffffffffffffp5);
    }
}

/* Defaults */

/* The error of a plain chain of binary64 FMAs. */
static double error_of_binary64(const problem *p)
{
    test_matrix c = matrix_copy(&p->c), before = p->c;
    const ref_gemm gemm = problem_gemm(p, &c), start = problem_gemm(p, &before);
    double worst = 0.0;
    ref_ieee(&gemm);
    for (int64_t j = 0; j < c.cols; j++)
        for (int64_t i = 0; i < c.rows; i++)
            worst = fmax(worst, ref_measure(&start, i, j, *matrix_at(&c, i, j)).error);
    matrix_free(&c);
    return worst;
}

/* Against the worst element of the same product in binary64, which is below one rounding only by
 * luck. Sums in binary64 in another order may err by a little more. */
static const double OTHER_ORDER = 1.25;

static bool is_worse_than_binary64(const char *name, const problem *p, double binary64)
{
    const mode m = mode_of_family(name);
    checked seen = {0};
    checked_problem(&m, p, &seen);
    const int64_t repaired = seen.repaired < 0 ? checked_repairs(&m, p) : seen.repaired;
    const bool is_worse = !(seen.error <= fmax(OTHER_ORDER * binary64, 0x1.00001p-53));
    test_note("%s, %s, k = %d: %s, binary64 %s, parameter %d, %d repaired%s", name, p->of.data,
              (int)p->of.k, test_power(seen.error), test_power(binary64), seen.parameter,
              (int)repaired, is_worse ? ": WORSE" : "");
    return is_worse;
}

/* Two orders of a sum in binary64 may err by more than OTHER_ORDER times each other, of other
 * numbers than these. */
enum { GIVEN_SEED = 81 };

TEST(defaults_are_as_good_as_binary64)
{
    static const char *const names[] = {"ozaki2", "ozaki1", "ozaki-sgemm", "faithful",
                                        "faithful:fp64"};
    static const char *const data[] = {
        "uniform", "both signs",     "wide 0.5",    "wide 1",         "wide 2",
        "wide 4",  "lines 64 apart", "lines apart", "crossing 64",    "crossing",
        "rising",  "scattered",      "circulant",   "some scattered", "graded"};
    static const int depths[] = {64, 512, 2048};
    int worse = 0;
    for (int d = 0; d < 15; d += test_is_brief() ? 4 : 1)
        for (int i = 0; i < (test_is_brief() ? 2 : 3); i++) {
            if (i == 2 && !test_takes(d, 3)) continue;
            product of = plain(data[d], 16, 18, depths[i]);
            of.seed = (uint64_t)(GIVEN_SEED + d);
            problem p = problem_make(&of);
            const double binary64 = error_of_binary64(&p);
            for (int n = 0; n < 5; n++)
                worse += mode_exists(names[n]) && is_worse_than_binary64(names[n], &p, binary64);
            problem_free(&p);
        }
    CHECK(worse == 0, "%d products are worse than binary64's", worse);
}

/* Products that cancel exactly: no mode may leave anything whose X is all of A' B'. (The digits of
 * -x are not those of x with the other sign, so what ozaki1 leaves out does not cancel.) */
TEST(exact_zeros)
{
    static const char *const names[] = {"ozaki2",        "ozaki2:5", "ozaki2:20",
                                        "ozaki-sgemm:3", "faithful", "faithful:fp64"};
    for (int n = 0; n < 6; n++) {
        if (!mode_exists(names[n])) continue;
        const mode m = mode_of_family(names[n]);
        const product of = plain("exact zeros", 20, 21, 222);
        problem p = problem_make(&of);
        test_matrix c = checked_compute(&m, &p);
        for (int64_t j = 0; j < of.n; j++)
            for (int64_t i = 0; i < of.m; i++)
                CHECK(*matrix_at(&c, i, j) == 0.0, "%s: C(%d, %d) is %g", names[n], (int)i, (int)j,
                      *matrix_at(&c, i, j));
        matrix_free(&c);
        problem_free(&p);
    }
}

/* Whole numbers */

/* Makes an operand whole numbers below 2^bits, every third of them 0, and all of its first line the
 * largest: two such lines have the product of their norms. */
static void set_whole(problem *p, int which, int bits)
{
    test_matrix *const x = which ? &p->b : &p->a;
    const bool by_columns = which ? p->of.op_b == TANDEM_OP_N : p->of.op_a != TANDEM_OP_N;
    const int64_t lines = which ? p->of.n : p->of.m;
    const double most = ldexp(1.0, bits) - 1.0;
    for (int64_t i = 0; i < lines; i++)
        for (int64_t l = 0; l < p->of.k; l++) {
            double *const at = by_columns ? matrix_at(x, l, i) : matrix_at(x, i, l);
            *at = i == 0 ? most : (i + l) % 3 == 0 ? 0.0 : floor(ldexp(*at, bits));
        }
}

/* Returns how many moduli a product of numbers of so many bits takes, which is checked to be as the
 * definition has it. */
static int whole_product(product of, int bits_a, int bits_b, bool is_special)
{
    const mode m = mode_of_family("ozaki2");
    problem p = problem_make(&of);
    set_whole(&p, 0, bits_a);
    set_whole(&p, 1, bits_b);
    if (is_special) *matrix_at(&p.a, p.a.rows / 2, p.a.cols / 2) = INFINITY;
    test_matrix got = checked_compute(&m, &p), want = matrix_copy(&p.c);
    const ref_gemm gemm = problem_gemm(&p, &want);
    ref_account account = mode_product(&m, &gemm);
    const int moduli = account.parameter, counted = (int)checked_counters(&m, &p).planes;
    checked_compare(&m, &p, &got, &want);
    CHECK(counted == moduli, "%d and %d bits: %d moduli, not %d: %s", bits_a, bits_b, counted,
          moduli, product_text(&of));
    ref_account_free(&account);
    matrix_free(&got, &want);
    problem_free(&p);
    return moduli;
}

/* Lines that few moduli do not round have the same X by these as by more. */
TEST(whole_numbers_take_fewer)
{
    static const int depths[] = {1, 64, 300, 2049};
    unsigned parameters = 0;
    for (int d = 0; d < 4; d += test_is_brief() ? 2 : 1)
        for (int bits = 1; bits <= 53; bits += test_is_brief() ? 7 : d % 2 ? 3 : 1) {
            if (d != 1 && !test_takes(bits - 1, d ? 4 : 2)) continue;
            product of = product_varied("uniform", 70 - d, 67 + d, depths[d], bits + d);
            const int moduli = whole_product(of, bits, bits, bits % 5 == 0);
            parameters |= 1u << moduli;
            if (bits > 20) continue;
            CHECK(whole_product(of, 1, bits, false) == moduli, "by one operand alone");
            CHECK(moduli <= 3 + bits / 3, "%d bits take %d moduli", bits, moduli);
        }
    CHECK((parameters & 0x7fff) == 0x7ffc || test_is_brief(), "not every number: %x", parameters);
}

/* So many lines of a few elements that a block makes more records at a time. */
TEST(many_short_lines)
{
    static const char *const data[] = {"both signs", "scattered"};
    const mode m = mode_of_family("ozaki2");
    for (int d = 0; d < (test_is_brief() ? 1 : 2); d++) {
        product of = plain(data[d], 33000, 2, 9);
        of.op_a = d ? TANDEM_OP_T : TANDEM_OP_N;
        checked_product(&m, &of);
    }
}

/* Blocks of zeros, which products pass over */

typedef enum { LOWER, UPPER, BANDED, BLOCKS, LINES, NOTHING, SHAPES } shape;
static const char *const shape_names[] = {"lower", "upper", "banded", "blocks", "lines", "nothing"};

static bool is_inside(shape s, int64_t line, int64_t lines, int64_t l, int64_t k)
{
    const int64_t on_diagonal = line * k / lines;
    switch (s) {
    case LOWER:
        return l <= on_diagonal;
    case UPPER:
        return l >= on_diagonal;
    case BANDED:
        return llabs(l - on_diagonal) < 40;
    case BLOCKS:
        return l / 150 == on_diagonal / 150;
    case LINES:
        return line / 64 % 2 == 0;
    default:
        return false;
    }
}

/* The elements outside are `outside` times what they were: 0, or so small that they become 0. */
static void set_shape(problem *p, int which, shape s, double outside)
{
    test_matrix *const x = which ? &p->b : &p->a;
    const bool by_columns = which ? p->of.op_b == TANDEM_OP_N : p->of.op_a != TANDEM_OP_N;
    const int64_t lines = which ? p->of.n : p->of.m;
    for (int64_t i = 0; i < lines; i++)
        for (int64_t l = 0; l < p->of.k; l++)
            if (!is_inside(s, i, lines, l, p->of.k))
                *(by_columns ? matrix_at(x, l, i) : matrix_at(x, i, l)) *= outside;
}

/* In less and less workspace: in parts, and in passes over k. */
static void check_shapes(const char *name, const product *of, shape a, shape b, double outside)
{
    const mode m = mode_of_family(name);
    problem p = problem_make(of);
    test_matrix want = matrix_copy(&p.c);
    const ref_gemm gemm = problem_gemm(&p, &want);
    set_shape(&p, 0, a, outside);
    set_shape(&p, 1, b, outside);
    test_note("%s: %s times %s, outside %g: %s", name, shape_names[a], shape_names[b], outside,
              product_text(of));
    ref_account account = mode_product(&m, &gemm);
    static const int limits[] = {28, 25, 22, 20}; /* the last one is too little for long lines */
    const bool is_brief = test_is_brief() || !test_takes_everything();
    for (int i = is_brief && of->k % 2 ? 1 : 0; i < (of->k < 8192 ? 4 : 3); i += is_brief ? 2 : 1) {
        test_matrix got = checked_compute_within(&m, &p, (size_t)1 << limits[i], NULL);
        checked_compare(&m, &p, &got, &want);
        matrix_free(&got);
    }
    ref_account_free(&account);
    matrix_free(&want);
    problem_free(&p);
}

TEST(blocks_of_zeros)
{
    static const struct {
        shape a, b;
    } pairs[] = {{LOWER, LOWER},  {UPPER, UPPER},   {LOWER, UPPER},  {BLOCKS, LOWER},
                 {BANDED, UPPER}, {BANDED, BLOCKS}, {LINES, BANDED}, {NOTHING, LOWER}};
    const int part = test_is_brief() ? 2 : 1;
    for (int i = 0; i < 8; i += test_is_brief() ? 5 : 1) {
        product of =
            product_varied("both signs", 330 / part - 9 * i, 200 / part + i, 300 + 61 * i, i);
        if (test_takes(i % 4 / 2, 2))
            check_shapes(i % 2 ? "ozaki2:14" : "faithful", &of, pairs[i].b, pairs[i].a, 0.0);
        check_shapes("ozaki2", &of, pairs[i].a, pairs[i].b, i % 2 ? 0x1p-90 : 0.0);
    }
    /* In pieces of k, then in passes, with and without maps. */
    const bool is_small = test_is_brief() || !test_takes_everything();
    product of = product_varied("both signs", is_small ? 60 : 130, is_small ? 30 : 70, 9990, 1);
    check_shapes("ozaki2:16", &of, LOWER, BANDED, 0.0);
    if (!test_is_brief()) check_shapes("ozaki2", &of, BLOCKS, UPPER, 0x1p-90);
}

/* Sizes that leave data to binary64 */

/* Compares with the definition; returns the most moduli that were taken, 0 if all of C was left to
 * binary64. */
static unsigned long long moduli_taken(const product *of)
{
    const mode m = mode_of_family("ozaki2");
    problem p = problem_make(of);
    test_matrix want = matrix_copy(&p.c);
    const ref_gemm gemm = problem_gemm(&p, &want);
    ref_account account = mode_product(&m, &gemm);
    test_matrix got = checked_compute(&m, &p);
    checked_compare(&m, &p, &got, &want);
    const unsigned long long moduli = checked_counters(&m, &p).planes;
    CHECK(moduli == (unsigned long long)account.parameter, "%d moduli, not %d: %s", (int)moduli,
          account.parameter, product_text(of));
    matrix_free(&got, &want);
    ref_account_free(&account);
    problem_free(&p);
    return moduli;
}

/* From 2^24 terms on data that the fewest moduli do not certify by lines are left to binary64 where
 * C is small, and nothing is shifted; unless C has few tiles and k is long. Where C is thin and has
 * 64 tiles all data are. */
TEST(sizes_leave_data_to_binary64)
{
    static const struct {
        const char *data;
        int64_t m, n, k;
        bool is_left;
    } cases[] = {{"zeros", 255, 256, 256, false},       {"zeros", 256, 256, 256, true},
                 {"rising", 257, 260, 260, true},       {"both signs", 256, 256, 256, false},
                 {"zeros", 96, 96, 2049, false},        {"wide 2", 270, 250, 280, true},
                 {"far crossing", 260, 270, 250, true}, {"both signs", 127, 2045, 66, true},
                 {"both signs", 127, 1980, 67, false},  {"subnormal", 270, 250, 260, true}};
    if (!mode_exists("ozaki2")) return;
    const int count = sizeof cases / sizeof *cases;
    for (int i = test_is_brief() ? count - 1 : 0; i < count; i++) {
        product of = plain(cases[i].data, cases[i].m, cases[i].n, cases[i].k);
        of.op_a = i % 2 ? TANDEM_OP_T : TANDEM_OP_N;
        of.op_b = i % 3 ? TANDEM_OP_T : TANDEM_OP_N;
        of.beta = i % 2 ? 0.5 : 0.0;
        const unsigned long long moduli = moduli_taken(&of);
        CHECK((moduli == 0) == cases[i].is_left, "%d moduli: %s", (int)moduli, product_text(&of));
    }
}

/* Batches */

enum { MEMBERS = 6, MOST_COPIES = 13 };

/* A batch in which there are `copies` of each member, with a C of its own. */
typedef struct {
    problem members[MEMBERS];
    double *a[MEMBERS], *b[MEMBERS], *pointers[3 * MEMBERS * MOST_COPIES];
    void **arrays; /* those on the device */
    int copies, batch;
} members_batch;

static void members_upload(members_batch *x, int copies, int64_t rows, int64_t columns, int64_t k)
{
    static const char *const data[] = {"both signs", "wide 4", "scattered",
                                       "circulant",  "zeros",  "integers"};
    x->copies = copies;
    x->batch = copies * MEMBERS;
    for (int z = 0; z < MEMBERS; z++) {
        const product of = plain(data[z], rows, columns, k);
        problem *const p = &x->members[z];
        *p = problem_make(&of);
        x->a[z] = device_upload(&p->a);
        x->b[z] = device_upload(&p->b);
        for (int i = z; i < x->batch; i += MEMBERS) {
            x->pointers[i] = x->a[z];
            x->pointers[x->batch + i] = x->b[z];
            x->pointers[2 * x->batch + i] = device_upload(&p->c);
        }
    }
    x->arrays = device_copy(x->pointers, sizeof x->pointers);
}

static td_product members_call(const members_batch *x)
{
    const problem *const p = &x->members[0];
    return (td_product){.op_a = TD_OP_N,
                        .op_b = TD_OP_N,
                        .m = p->of.m,
                        .n = p->of.n,
                        .k = p->of.k,
                        .alpha.value.binary64 = 1.0,
                        .a = {.array = x->arrays, .ld = p->a.ld},
                        .b = {.array = x->arrays + x->batch, .ld = p->b.ld},
                        .c = {.array = x->arrays + 2 * x->batch, .ld = p->c.ld},
                        .batch = x->batch};
}

/* Compares all copies of a member with what it is alone, and frees it. Adds how many elements are
 * repaired; returns the bit of its parameter, which is 0 of exact modes. */
static unsigned member_compare(members_batch *x, int z, const mode *m, uint64_t *repaired)
{
    problem *const p = &x->members[z];
    test_matrix got = matrix_copy(&p->c), want = matrix_copy(&p->c);
    const ref_gemm alone = problem_gemm(p, &want);
    ref_account account = mode_product(m, &alone);
    for (int i = z; i < x->batch; i += MEMBERS) {
        device_download(&got, x->pointers[2 * x->batch + i]);
        checked_compare(m, p, &got, &want);
        device_free(x->pointers[2 * x->batch + i]);
    }
    *repaired += (uint64_t)x->copies *
                 (uint64_t)(account.repaired < 0 ? checked_repairs(m, p) : account.repaired);
    const unsigned parameter = 1u << account.parameter;
    ref_account_free(&account);
    matrix_free(&got, &want);
    device_free(x->a[z], x->b[z]);
    problem_free(p);
    return parameter;
}

/* Each member's data want other moduli, or none, and other elements are repaired. Returns a bit for
 * every number of moduli or slices. */
static unsigned check_members(const char *name, int copies, int64_t rows, int64_t columns,
                              int64_t k)
{
    const mode m = mode_of_family(name);
    td_parameter parameter;
    const td_engine *engine = td_engine_parse(m.name, &parameter);
    td_device *device = td_device_current();
    td_counters counted = {0};
    unsigned parameters = 0;
    uint64_t repaired = 0;
    members_batch x;
    members_upload(&x, copies, rows, columns, k);
    td_counters *const counters = device_copy(&counted, sizeof counted);
    const td_product gemm = members_call(&x);
    CHECK(td_engine_run(engine, &gemm, parameter, device, device->workspace_bytes, counters) ==
              TD_RUN_DONE,
          "a batch failed");
    device_check_clean("a batch");
    for (int z = 0; z < MEMBERS; z++) parameters |= member_compare(&x, z, &m, &repaired);
    device_fetch(&counted, counters, sizeof counted);
    CHECK(counted.repaired == repaired && repaired > 0, "%s: %llu elements repaired, not %llu",
          name, (unsigned long long)counted.repaired, (unsigned long long)repaired);
    test_note("%s: %llu elements of a batch repaired", name, (unsigned long long)repaired);
    device_free(counters);
    device_free((void *)x.arrays);
    return parameters;
}

TEST(members_choose_for_themselves)
{
    const unsigned parameters = check_members("ozaki2", 1, 33, 20, 150);
    CHECK((parameters & (parameters - 1)) != 0, "all want the same moduli: %x", parameters);
    check_members("ozaki1", 1, 33, 20, 150);
    check_members("ozaki-sgemm", 1, 33, 20, 150);
    check_members("faithful", 1, 33, 20, 150);
    check_members("faithful:fp64", 1, 33, 20, 150);
}

/* So many that few blocks have the tiles of each. */
TEST(many_members)
{
    const int side = test_is_brief() ? 70 : 200;
    check_members("ozaki2", test_is_brief() ? 3 : 13, side, side + 2, 40);
}
