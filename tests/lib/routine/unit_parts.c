/* unit_parts.c - parts cover every element that C has, once; and parts shrink until a plan fits. */
#include "tests/support/test.h"

#include "kernels/view/target.h"
#include "lib/routine/parts.h"
#include "lib/routine/sizes.h"

enum { MOST = 300 };

static td_real_product product(int64_t m, int64_t n, int64_t batch, td_region_kind region)
{
    return (td_real_product){.m = m, .n = n, .k = 100, .batch = batch, .region = region};
}

/* Also by numbers that stand for no end. */
TEST(quotients_are_rounded_up)
{
    assert_int_equal(td_ceil_div(0, 3), 0);
    assert_int_equal(td_ceil_div(6, 3), 2);
    assert_int_equal(td_ceil_div(7, 3), 3);
    assert_int_equal(td_ceil_div(7, INT64_MAX), 1);
    assert_int_equal(td_ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

/* How many parts have each element of one member. */
static void count_elements(const td_part *part, int8_t count[MOST][MOST])
{
    for (int64_t i = part->i; i < part->i + part->m; i++)
        for (int64_t j = part->j; j < part->j + part->n; j++) count[i][j]++;
}

/* Every element in the region belongs to one part, every other one to one part at most; and the
 * numbers of parts rise. */
static void check_members(const td_real_product *p, const td_part_sizes *sizes, int64_t z)
{
    static int8_t count[MOST][MOST];
    const td_region region = td_real_region(p);
    td_part part = td_before_parts(p, sizes, z);
    int64_t before = -1;
    memset(count, 0, sizeof count);
    assert_true(part.m == 0 && part.n == 0);
    while (td_next_part(p, sizes, &part)) {
        assert_true(part.m > 0 && part.m <= sizes->m && part.i % sizes->m == 0);
        assert_true(part.n > 0 && part.n <= sizes->n && part.j % sizes->n == 0);
        assert_true(part.number > before && part.number < td_parts_of_members(p, sizes));
        assert_true(part.z == z && part.batch > 0 && z + part.batch <= p->batch);
        before = part.number;
        count_elements(&part, count);
    }
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            assert_true(count[i][j] <= 1 && (count[i][j] == 1 || !td_region_has(&region, i, j)));
}

TEST(parts_cover_the_region_once)
{
    static const int64_t sides[][2] = {{1, 1}, {64, 64}, {65, 127}, {257, 300}, {300, 64}};
    static const td_part_sizes cuts[] = {{.m = 64, .n = 64, .batch = 1},
                                         {.m = 128, .n = 64, .batch = 2},
                                         {.m = 64, .n = 192, .batch = 5},
                                         {.m = MOST, .n = MOST, .batch = 7}};
    for (int s = 0; s < 5; s++)
        for (int c = 0; c < 4; c++)
            for (int region = TD_REGION_ALL; region <= TD_REGION_UPPER; region++) {
                const td_real_product p =
                    product(sides[s][0], sides[s][1], 7, (td_region_kind)region);
                for (int64_t z = 0; z < 7; z += cuts[c].batch) check_members(&p, &cuts[c], z);
            }
}

/* Of a triangle of 3 x 3 parts, three are left out; their numbers stay. */
TEST(parts_outside_the_region_are_left_out)
{
    const td_part_sizes sizes = {.m = 64, .n = 64, .batch = 1};
    const td_real_product lower = product(192, 192, 1, TD_REGION_LOWER);
    static const int64_t numbers[] = {0, 1, 2, 4, 5, 8};
    td_part part = td_before_parts(&lower, &sizes, 0);
    for (int i = 0; i < 6; i++) {
        assert_true(td_next_part(&lower, &sizes, &part));
        assert_int_equal(part.number, numbers[i]);
    }
    assert_false(td_next_part(&lower, &sizes, &part));
    assert_int_equal(td_parts_of_members(&lower, &sizes), 9);
}

/* Parts of a window cover it once, cut to it, and nothing else. */
TEST(parts_that_are_made_cover_the_window_once)
{
    static int8_t count[MOST][MOST];
    static const td_window windows[] = {{0, 0, 300, 257},
                                        {0, 64, 300, 100},
                                        {64, 0, 128, 257},
                                        {128, 128, 64, 64},
                                        {192, 64, 108, 193}};
    for (int w = 0; w < 5; w++)
        for (int region = TD_REGION_ALL; region <= TD_REGION_UPPER; region++) {
            td_real_product p = product(300, 257, 1, (td_region_kind)region);
            const td_part_sizes sizes = {.m = 128, .n = 64, .batch = 1};
            const td_region of_c = td_real_region(&p);
            td_part part = td_before_parts(&p, &sizes, 0);
            p.window = windows[w];
            memset(count, 0, sizeof count);
            while (td_next_made_part(&p, &sizes, &part)) {
                assert_true(part.m > 0 && part.m <= sizes.m && part.n > 0 && part.n <= sizes.n);
                count_elements(&part, count);
            }
            for (int64_t i = 0; i < p.m; i++)
                for (int64_t j = 0; j < p.n; j++) {
                    const bool is_in = i >= windows[w].i && i < windows[w].i + windows[w].m &&
                                       j >= windows[w].j && j < windows[w].j + windows[w].n;
                    assert_true(is_in ? count[i][j] <= 1 : count[i][j] == 0);
                    assert_true(!is_in || count[i][j] == 1 || !td_region_has(&of_c, i, j));
                }
        }
}

/* The largest part numbers its tiles and members in what one launch has. */
TEST(the_largest_part_is_one_launch)
{
    const td_real_product p = product(INT64_C(1) << 22, 5, 40000, TD_REGION_ALL);
    const td_part_sizes sizes = td_largest_part(&p);
    assert_true(sizes.m == TD_MAX_PART_LINES && sizes.n == 5);
    assert_true(sizes.batch == TD_MAX_PART_MEMBERS && sizes.k_pass == p.k);
    assert_int_equal(sizes.cublas_bytes, 0);
}

/* A plan that takes as many bytes as it has elements of C, and of its operands' passes. */
static size_t lay_out(void *of)
{
    const td_part_sizes *s = of;
    return (size_t)(s->batch * (s->m * s->n + (s->m + s->n) * s->k_pass)) + s->cublas_bytes;
}

static const td_pass_units units = {.deep = 512, .deep_unit = 512, .unit = 64};

static bool shrink(void *of) { return td_shrink(of, &units); }

/* What shrinks first: members, then cuBLAS's memory, long passes, the longer side, short passes. */
TEST(sizes_shrink_in_order)
{
    td_part_sizes s = {.m = 200, .n = 130, .batch = 3, .k_pass = 1500, .cublas_bytes = 100000};
    assert_true(shrink(&s) && s.batch == 2);
    assert_true(shrink(&s) && s.batch == 1);
    assert_true(shrink(&s) && s.cublas_bytes == 16384);
    assert_true(shrink(&s) && s.k_pass == 1024);
    assert_true(shrink(&s) && s.k_pass == 512);
    assert_true(shrink(&s) && s.m == 128);
    assert_true(shrink(&s) && s.n == 128);
    assert_true(shrink(&s) && s.n == 64);
    assert_true(shrink(&s) && s.m == 64);
    assert_true(shrink(&s) && s.k_pass == 256);
    assert_true(shrink(&s) && s.k_pass == 128);
    assert_true(shrink(&s) && s.k_pass == 64);
    assert_false(shrink(&s));
    assert_true(s.m == TD_TILE && s.n == TD_TILE && s.batch == 1 && s.k_pass == units.unit);
    assert_int_equal(s.cublas_bytes, 16384);
}

/* The first sizes that fit are taken, and the bytes are theirs; or nothing fits. */
TEST(a_plan_shrinks_until_it_fits)
{
    for (size_t limit = 1; limit < 8000000; limit += limit / 5 + 1) {
        td_part_sizes fitted = {.m = 300, .n = 200, .batch = 9, .k_pass = 3000}, step = fitted;
        const size_t bytes = td_fit(&fitted, limit, lay_out, shrink);
        bool can_shrink = true;
        while (lay_out(&step) > limit && can_shrink) can_shrink = shrink(&step);
        assert_memory_equal(&fitted, &step, sizeof step);
        assert_int_equal(bytes, can_shrink ? lay_out(&step) : 0);
        assert_true(bytes <= limit);
    }
}
