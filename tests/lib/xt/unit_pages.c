/* unit_pages.c - ranges of pages that touch become one. */
#include "tests/support/test.h"

#include "lib/xt/pages.h"

static char memory[16];

static td_xt_pages range(int first, int end) { return (td_xt_pages){memory + first, memory + end}; }

static void check(int count, td_xt_pages *pages, int left, const td_xt_pages *wanted)
{
    assert_int_equal(td_xt_merge_pages(pages, count), left);
    for (int i = 0; i < left; i++)
        assert_true(pages[i].start == wanted[i].start && pages[i].end == wanted[i].end);
}

TEST(ranges_that_are_apart_are_put_in_order)
{
    check(3, (td_xt_pages[]){range(8, 9), range(0, 2), range(4, 6)}, 3,
          (td_xt_pages[]){range(0, 2), range(4, 6), range(8, 9)});
}

TEST(ranges_that_touch_become_one)
{
    check(2, (td_xt_pages[]){range(3, 6), range(0, 3)}, 1, (td_xt_pages[]){range(0, 6)});
    check(3, (td_xt_pages[]){range(2, 9), range(3, 4), range(8, 10)}, 1,
          (td_xt_pages[]){range(2, 10)});
}

TEST(a_range_joins_several)
{
    check(5, (td_xt_pages[]){range(0, 1), range(14, 15), range(4, 5), range(8, 9), range(4, 8)}, 3,
          (td_xt_pages[]){range(0, 1), range(4, 9), range(14, 15)});
}

TEST(nothing_stays_nothing) { assert_int_equal(td_xt_merge_pages(NULL, 0), 0); }
