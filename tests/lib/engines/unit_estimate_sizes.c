/* Which products are worth residues, and an estimate of abs(A)abs(B), by their sizes alone. */
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

/* 660 / m + 660 / n + 440 / k is 1 at 1760 cubed, and of complex products 525 / m + 525 / n +
 * 350 / k at 1400 cubed: in 1024ths 384 + 384 + 256, rounded down. */
TEST(cubes)
{
    assert_false(is_worth(1760, 1760, 1760));
    assert_true(is_worth(1761, 1760, 1760));
    assert_true(is_worth(1760, 1761, 1760));
    assert_true(is_worth(1760, 1760, 1761));
    assert_false(is_worth_complex(1400, 1400, 1400));
    assert_true(is_worth_complex(1401, 1401, 1401));
    assert_true(is_worth(4096, 4096, 4096));
    assert_true(is_worth(INT64_C(1) << 24, INT64_C(1) << 24, 0x7fffff00));
}

TEST(products_that_are_small_in_one_size)
{
    assert_false(is_worth(100000, 512, 512));
    assert_false(is_worth(4096, 4096, 256));
    assert_false(is_worth(4096, 4096, 512));
    assert_true(is_worth(4096, 4096, 1024));
    assert_false(is_worth(16384, 1024, 1024));
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
    assert_true(is_worth(384, 1024, 2049));
    assert_false(is_worth(384, 1024, 2048));
    assert_false(is_worth(384, 1025, 2049));
    assert_true(is_worth_complex(192, 1024, 1025));
}

/* 200 / m + 200 / n is 1 for 400 x 400 elements, and of complex products for 200 x 200; C has 64
 * tiles at least, of real rows, and there are 2^24 terms. */
TEST(thin_products_are_not_worth_residues)
{
    assert_false(td_is_worth_residues(128, 4096, 2815, false));
    assert_false(is_worth(128, 4096, 2815));
    assert_true(td_is_worth_residues(256, 4096, 2815, false));
    assert_false(td_is_worth_residues(16, 16384, 4096, false));
    assert_false(td_is_worth_residues(4096, 128, 2815, false));
    assert_true(td_is_worth_residues(64, 4032, 4096, false));
    assert_false(td_is_worth_residues(64, 4096, 4096, false));
    assert_true(td_is_worth_residues(64, 4096, 63, false));
    assert_true(td_is_worth_residues(400, 400, 30000, false));
    assert_true(td_is_worth_residues(2 * 128, 4096, 2 * 2815, true));
    assert_false(td_is_worth_residues(2 * 64, 4096, 2 * 2815, true));
}

/* No size makes an estimate less worth when it grows, but where C or k is small. */
TEST(larger_products_are_worth_more)
{
    for (int64_t n = 728; n < 4000; n += 8) { /* more than few tiles */
        assert_true(is_worth(n, n, n) <= is_worth(n + 8, n, n));
        assert_true(is_worth(n, n, n) <= is_worth(n, n + 8, n));
        assert_true(is_worth(n, n, n) <= is_worth(n, n, n + 8));
    }
}
