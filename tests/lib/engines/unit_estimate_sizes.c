/* Which products are worth an estimate of abs(A)abs(B), by their sizes alone. */
#include "tests/support/test.h"
#include "lib/engines/ozaki/estimate_sizes.h"

static bool is_worth(int64_t m, int64_t n, int64_t k)
{
    return td_is_worth_estimating(m, n, k, false);
}

static bool is_worth_complex(int64_t m, int64_t n, int64_t k)
{
    return td_is_worth_estimating(2 * m, n, 2 * k, true);
}

/* 525 / m + 525 / n + 350 / k is 1 at 1400 cubed: in 1024ths 384 + 384 + 256, rounded down. */
TEST(cubes)
{
    assert_false(is_worth(1400, 1400, 1400));
    assert_true(is_worth(1401, 1400, 1400));
    assert_true(is_worth(1400, 1401, 1400));
    assert_true(is_worth(1400, 1400, 1401));
    assert_false(is_worth_complex(1400, 1400, 1400));
    assert_true(is_worth_complex(1401, 1401, 1401));
    assert_true(is_worth(4096, 4096, 4096));
    assert_true(is_worth(INT64_C(1) << 24, INT64_C(1) << 24, 0x7fffff00));
}

TEST(products_that_are_small_in_one_size)
{
    assert_false(is_worth(100000, 512, 512));
    assert_false(is_worth(4096, 4096, 256));
    assert_true(is_worth(4096, 4096, 512));
    assert_true(is_worth(16384, 1024, 1024));
    assert_false(is_worth_complex(8192, 8192, 256));
    assert_true(is_worth_complex(8192, 8192, 512));
}

/* Fewer than 2^24 terms; C of few elements and k long, in real lines. */
TEST(sizes_that_do_not_count)
{
    assert_true(is_worth(1, 1, 1));
    assert_true(is_worth(255, 256, 256));
    assert_false(is_worth(256, 256, 256));
    assert_true(is_worth_complex(1, 1, 1));
    assert_true(is_worth_complex(127, 256, 128));
    assert_false(is_worth_complex(128, 256, 256));
    assert_true(is_worth(512, 1024, 2049));
    assert_false(is_worth(512, 1024, 2048));
    assert_false(is_worth(512, 1025, 2049));
    assert_true(is_worth_complex(256, 1024, 1025));
}

/* No size makes an estimate less worth when it grows, but where C or k is small. */
TEST(larger_products_are_worth_more)
{
    for (int64_t n = 728; n < 4000; n += 8) {
        assert_true(is_worth(n, n, n) <= is_worth(n + 8, n, n));
        assert_true(is_worth(n, n, n) <= is_worth(n, n + 8, n));
        assert_true(is_worth(n, n, n) <= is_worth(n, n, n + 8));
    }
}
