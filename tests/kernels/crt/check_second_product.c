/* check_second_product.c - the second product of dense tiles by itself, of masks of any form: what
 * it certifies is the exact element rounded once, what it does not is untouched and still masked,
 * and nothing else is written.
 *
 * usage: check_second_product [CASES [SEED]] */
#include "tests/support/test.h"

#include "lib/cuda/device.h"
#include "lib/engines/tiler.h"
#include "tests/support/bits.h"
#include "tests/kernels/support/checked.h"
#include "dense_state.h"
#include "tests/kernels/support/device.h"

static int cases = 30;
static uint64_t first_seed;

typedef struct {
    unsigned long long masked,
        done; /* of dense tiles, or of all; without those that are not finite */
} census;

static bool is_finite(const dense_case *c, int64_t i, int64_t j)
{
    return !c->has_specials || !(i == 5 || (i == 7 && j == 8 && c->of.beta != 0.0));
}

static void check_element(const dense_state *s, const dense_case *c, int z, int64_t i, int64_t j,
                          bool is_open, bool must_be_done, census *seen)
{
    test_matrix before = s->p[z].c;
    const bool was_masked = dense_is_masked(c, i, j),
               is_left = s->masks[dense_mask_index(s, z, i, j)] & dense_mask_bit(i, j),
               is_done = was_masked && !is_left;
    const double x = *matrix_at(&s->c[z], i, j), was = *matrix_at(&before, i, j);
    CHECK(!is_left || was_masked, "(%d, %d) of %d is masked now: %s", (int)i, (int)j, z,
          dense_text(c));
    CHECK(!is_done || (is_open && is_finite(c, i, j)), "(%d, %d) of %d is done: %s", (int)i, (int)j,
          z, dense_text(c));
    CHECK(is_done || !must_be_done || !was_masked || !is_finite(c, i, j),
          "(%d, %d) of %d is left: %s", (int)i, (int)j, z, dense_text(c));
    seen->masked += was_masked && is_open && is_finite(c, i, j);
    seen->done += is_done;
    if (!is_done) {
        CHECK(bits_of(x) == bits_of(was), "(%d, %d) of %d was %a and is %a: %s", (int)i, (int)j, z,
              was, x, dense_text(c));
        return;
    }
    const ref_gemm gemm = problem_gemm(&s->p[z], &before);
    const double want = ref_measure(&gemm, i, j, 0.0).nearest;
    CHECK(bits_of(x) == bits_of(want), "(%d, %d) of %d is %a, not %a: %s", (int)i, (int)j, z, x,
          want, dense_text(c));
}

static census check_elements(const dense_state *s, const dense_case *c, bool all_tiles,
                             bool must_be_done)
{
    census seen = {0};
    const int64_t tiles = s->tiles[0] * s->tiles[1];
    for (int z = 0; z < c->batch; z++)
        for (int64_t j = 0; j < c->of.n; j++)
            for (int64_t i = 0; i < c->of.m; i++) {
                const int64_t tile = j / TD_TILE * s->tiles[0] + i / TD_TILE;
                check_element(s, c, z, i, j,
                              all_tiles || (c->is_worth && s->is_dense[z * tiles + tile]),
                              must_be_done, &seen);
            }
    return seen;
}

/* The second product, and what is left by single sums. */
static census check_case(const dense_case *c)
{
    dense_state s = dense_make(c);
    dense_run(&s, c);
    const unsigned long long counted = dense_fetch(&s, c);
    const census seen = check_elements(&s, c, false, false);
    CHECK(counted == seen.done, "%d are counted, %d done: %s", (int)counted, (int)seen.done,
          dense_text(c));
    dense_repair(&s, c);
    const unsigned long long all = dense_fetch(&s, c);
    const census after = check_elements(&s, c, true, true);
    CHECK(all == after.done, "%d are counted, %d done: %s", (int)all, (int)after.done,
          dense_text(c));
    dense_free(&s, c);
    return seen;
}

/* ---- tests ---- */

/* All sums of such data are certified: their lines span less than 151 bits, or nothing cancels. */
static const char *const certified[] = {"uniform",  "both signs",     "wide 1",
                                        "wide 2",   "wide 4",         "graded",
                                        "crossing", "exact zeros",    "all but cancelling",
                                        "integers", "2^480",          "2^-480",
                                        "constant", "lines apart",    "full",
                                        "zeros",    "wide cancelling"};
enum { CERTIFIED = 17 };
static const char *const others[] = {
    "scattered", "some scattered", "far scattered",  "rising",      "wide exact zeros",
    "subnormal", "least",          "vanishing",      "overflowing", "opposite",
    "one huge",  "circulant",      "half units 106", "far crossing"};
enum { OTHERS = 14 };

static const int64_t sizes[][3] = {{64, 64, 64},   {65, 70, 129}, {63, 130, 127},
                                   {130, 66, 100}, {200, 30, 65}, {17, 60, 300},
                                   {129, 129, 33}, {70, 65, 513}, {150, 140, 191}};
enum { SIZES = 9 };

static dense_case varied(const char *data, int which)
{
    const int64_t *size = sizes[which % SIZES];
    return (dense_case){.of = product_varied(data, size[0], size[1], size[2], which),
                        .form = (form)(which / 2 % FORMS),
                        .batch = 1 + (which % 5 == 3),
                        .m_piece = which % 3 == 1 ? 64 : 0,
                        .n_piece = which % 4 == 2 ? 128 : 0,
                        .k_pass = which % 3 == 2 ? 64 : 0,
                        .is_worth = which % 7 != 6,
                        .has_specials = which % 6 == 4};
}

TEST(data_that_are_certified)
{
    census all = {0};
    for (int d = 0; d < CERTIFIED; d++)
        for (int i = 0; i < (test_is_brief() ? 1 : 2); i++) {
            const dense_case c = varied(certified[d], d + 5 * i);
            const census seen = check_case(&c);
            CHECK(seen.done == seen.masked, "%d of %d elements are left: %s",
                  (int)(seen.masked - seen.done), (int)seen.masked, dense_text(&c));
            all.masked += seen.masked;
        }
    CHECK(all.masked > 10000, "%d elements", (int)all.masked);
    test_note("%llu elements", all.masked);
}

TEST(other_data)
{
    census all = {0};
    for (int d = 0; d < OTHERS; d++)
        for (int i = 0; i < (test_is_brief() ? 1 : 2); i++) {
            const dense_case c = varied(others[d], d + 5 * i + 1);
            const census seen = check_case(&c);
            all.masked += seen.masked;
            all.done += seen.done;
        }
    CHECK(all.done > 0 && all.done < all.masked, "%d of %d are done", (int)all.done,
          (int)all.masked);
    test_note("%llu of %llu elements are certified", all.done, all.masked);
}

/* Results at the ends of binary64. */
TEST(scalars)
{
    static const struct {
        const char *data;
        double alpha, beta;
    } ends[] = {{"both signs", 0x1p-1074, 0.0}, {"both signs", -0x1.7p-1065, 0.0},
                {"wide 4", 0x1p-1030, -1.0},    {"both signs", 0x1.3p-1026, 0x1p-1050},
                {"uniform", 0x1p1020, 0.0},     {"both signs", 0x1.9p1022, 0.0},
                {"exact zeros", 0x1p1023, 0.0}, {"cancelling", -0x1p-1010, 0x1p-60},
                {"wide 2", 1.5, 0x1p300},       {"wide 2", 1.5, 0x1p-300},
                {"overflowing", 1.0, -1.0},     {"exact zeros", 1.0, 0x1.8p-1}};
    for (int i = 0; i < (test_is_brief() ? 3 : 12); i++) {
        dense_case c = varied(ends[i].data, 9 + i);
        c.form = ALL;
        c.of.alpha = ends[i].alpha;
        c.of.beta = ends[i].beta;
        c.of.takes_product = i % 4 == 3;
        check_case(&c);
    }
}

/* 2^edge - 2^edge + 1 + ...: exact while lines of this span have room, and then cancelled by more
 * than that. */
TEST(spans_at_the_limit)
{
    static const struct {
        int edge;
        bool is_done;
    } limits[] = {{100, true}, {149, true}, {150, true}, {151, false}, {152, false}, {-150, true}};
    for (int i = 0; i < 6; i++) {
        dense_case c = varied("uniform", 3 * i);
        c.edge = limits[i].edge;
        c.form = ALL;
        c.has_specials = false;
        c.is_worth = true;
        const census seen = check_case(&c);
        CHECK(limits[i].is_done ? seen.done == seen.masked : seen.done == 0,
              "%d of %d are done: %s", (int)seen.done, (int)seen.masked, dense_text(&c));
    }
}

/* Any of it all. */
TEST(random_cases)
{
    test_random r = random_start(first_seed);
    for (int i = 0; i < cases; i++) {
        const int d = random_int(&r, 0, CERTIFIED + OTHERS - 1);
        dense_case c =
            varied(d < CERTIFIED ? certified[d] : others[d - CERTIFIED], random_int(&r, 0, 9999));
        c.of.m = random_int(&r, 1, 140);
        c.of.n = random_int(&r, 9, 140);
        c.of.k = random_int(&r, 3, 150);
        if (c.has_specials) c.of.m += 8;
        c.of.seed = random_bits(&r) >> 34;
        check_case(&c);
    }
}

/* Whole products of a mode, which come to it by themselves. */
TEST(modes)
{
    static const char *const names[] = {"faithful", "faithful:fp64", "ozaki1"};
    static const char *const data[] = {"wide 4", "circulant", "scattered", "wide cancelling"};
    for (int n = 0; n < (test_is_brief() ? 1 : 3); n++)
        for (int d = 0; d < (test_is_brief() ? 1 : 4); d++) {
            if (!test_takes(n + d, 2)) continue;
            const mode m = mode_of_family(names[n]);
            product of = product_varied(data[d], 130 + n, 131 - d, 1000 + 31 * d, n + d);
            of.seed = first_seed;
            const td_part_sizes sizes = {
                .m = of.m, .n = of.n, .batch = 1, .k_pass = td_round_up(of.k, TD_K_PAD)};
            CHECK(td_second_sizes(&sizes, of.k, 1 << 30).m > 0, "too small: %s", product_text(&of));
            checked_product(&m, &of);
        }
}

/* Dense tiles are made in parts and passes where the workspace has no room for all. */
TEST(little_workspace)
{
    static const size_t bytes[] = {8 << 20, 5 << 20, 3 << 20};
    td_device *device = td_device_current();
    const size_t all = device->workspace_bytes;
    const bool is_small = test_is_brief();
    for (int i = 0; i < (is_small ? 1 : 3); i++) {
        if (!test_takes(i, 2)) continue;
        const mode m = mode_of_family("faithful");
        product of =
            product_varied("wide cancelling", is_small ? 130 : 200, is_small ? 120 : 190, 1100, i);
        of.seed = first_seed;
        device->workspace_bytes = bytes[is_small ? 2 : i];
        checked_product(&m, &of);
    }
    device->workspace_bytes = all;
}

int main(int argc, char **argv)
{
    device_require();
    if (td_second_part_prepare() != cudaSuccess || td_lines_prepare() != cudaSuccess ||
        td_repair_prepare() != cudaSuccess)
        return 1;
    if (test_is_brief()) cases = 3;
    test_take_cases(argc, argv, &cases, &first_seed);
    return test_run();
}
