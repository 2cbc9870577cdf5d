/* unit_native_copies.c - how often cublasXt copies the matrices of a routine, against a count of
 * the blocks that its tiles read. */
#include "tests/support/test.h"

#include "lib/xt/native_copies.h"

enum { BLOCK = 8, MOST_BLOCKS = 5, LD = MOST_BLOCKS * BLOCK };

static double memory[3][LD * LD];

static td_tile whole_of(td_problem p, int64_t m, int64_t n, int64_t k)
{
    td_tile whole;
    p.type = TD_BINARY64;
    p.m = m * BLOCK;
    p.n = n * BLOCK;
    p.k = k * BLOCK;
    p.alpha.value.binary64 = 1.0;
    p.a = (td_matrix){.data = memory[0], .ld = LD};
    p.b = (td_matrix){.data = memory[1], .ld = LD};
    p.c = (td_matrix){.data = memory[2], .ld = LD};
    p.batch = 1;
    assert_true(td_tile_whole(&p, &whole));
    return whole;
}

TEST(a_product_brings_its_factors_for_each_tile)
{
    for (int m = 1; m <= MOST_BLOCKS; m++)
        for (int n = 1; n <= MOST_BLOCKS; n++) {
            td_tile whole = whole_of((td_problem){.kind = TD_PRODUCT}, m, n, 3);
            td_native_copies copies = td_native_copies_of(&whole, BLOCK);
            const int tiles = m * n; /* each brings a block of rows and one of columns */
            assert_true(copies.read[0] * m == tiles && copies.read[1] * n == tiles);
            assert_true(copies.written == 1.0);
            whole.product.beta.value.binary64 = 2.0;
            copies = td_native_copies_of(&whole, BLOCK);
            assert_true(copies.written == 2.0);
            copies = td_native_copies_of(&whole, LD);
            assert_true(copies.read[0] == 1.0 && copies.read[1] == 1.0);
        }
}

/* Blocks of rows of A that the tiles of a triangle of order n bring, those on the diagonal once. */
static int blocks_of_triangle(int n)
{
    int blocks = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) blocks += i == j ? 1 : 2;
    return blocks;
}

TEST(an_update_of_a_triangle_has_fewer_tiles)
{
    for (int n = 1; n <= MOST_BLOCKS; n++) {
        const td_tile one = whole_of((td_problem){.kind = TD_RANK_K}, n, n, 2),
                      two = whole_of((td_problem){.kind = TD_RANK_2K}, n, n, 2);
        const td_native_copies of_one = td_native_copies_of(&one, BLOCK),
                               of_two = td_native_copies_of(&two, BLOCK);
        assert_true(of_one.read[0] * n == blocks_of_triangle(n) && of_one.read[1] == 0.0);
        for (int i = 0; i < 2; i++)
            assert_true(of_two.read[i] * n == blocks_of_triangle(n) && of_two.read[2 + i] == 0.0);
    }
}

TEST(of_a_factor_that_is_stored_in_a_triangle_the_least_is_known)
{
    const td_tile whole =
        whole_of((td_problem){.kind = TD_SYMMETRIC_PRODUCT, .side = TD_LEFT}, 3, 4, 3);
    const td_native_copies copies = td_native_copies_of(&whole, BLOCK);
    assert_true(copies.read[0] == 1.0 && copies.read[1] == 1.0 && copies.written == 1.0);
}

TEST(a_solve_brings_x_for_what_is_below_it)
{
    for (int m = 1; m <= MOST_BLOCKS; m++)
        for (int n = 1; n <= MOST_BLOCKS; n++)
            for (int side = 0; side < 2; side++) {
                const td_tile whole = whole_of(
                    (td_problem){.kind = TD_TRIANGULAR_SOLVE, .side = side ? TD_RIGHT : TD_LEFT}, m,
                    n, 0);
                const td_native_copies copies = td_native_copies_of(&whole, BLOCK);
                const int order = side ? n : m, vectors = side ? m : n;
                int blocks = 0; /* of B and of X, for one block of vectors */
                for (int i = 0; i < order; i++) blocks += 2 + i;
                assert_true(copies.read[0] == vectors);
                assert_true(copies.written * order == blocks);
            }
}
