/* unit_tiles.c - a product in tiles of C: how large they are, and that they are C, once each. */
#include "../support/test.h"

#include "../../lib/call/tiles.h"

enum { M = 100, N = 70, K = 30, LD = 128 };

static double memory[3][LD * LD];

static td_problem product_of(td_type type, td_op op_a, td_op op_b)
{
    return (td_problem){.kind = TD_PRODUCT,
                        .type = type,
                        .op_a = op_a,
                        .op_b = op_b,
                        .m = M,
                        .n = N,
                        .k = K,
                        .alpha.value.complex_binary64 = {1.0, 0.0},
                        .a = {.data = memory[0], .ld = LD},
                        .b = {.data = memory[1], .ld = LD},
                        .c = {.data = memory[2], .ld = LD},
                        .batch = 1};
}

static void what_fits_is_one_tile(void **state)
{
    const td_problem p = product_of(TD_BINARY64, TD_OP_N, TD_OP_T);
    const double bytes = td_tile_bytes(&p);
    (void)state;
    assert_true(bytes >= 8.0 * (M * K + K * N + M * N));
    assert_true(bytes <= 8.0 * (M * K + K * N + M * N) + 3 * TD_TILE_ALIGNMENT);
    const td_tile_size size = td_tile_fitting(&p, 8, bytes);
    assert_true(size.m == M && size.n == N && td_tile_count(&p, size) == 1);
    const td_tile_size smaller = td_tile_fitting(&p, 8, bytes - 1.0);
    assert_true(smaller.m == 56 &&
                smaller.n == N); /* the longer side, halved, to a multiple of 8 */
}

/* Nothing of A and B is copied where nothing is multiplied. */
static void scaling_takes_c_alone(void **state)
{
    td_problem p = product_of(TD_COMPLEX_BINARY64, TD_OP_N, TD_OP_N);
    (void)state;
    p.k = 0;
    assert_true(td_tile_bytes(&p) <= 16.0 * M * N + 3 * TD_TILE_ALIGNMENT);
}

static void tiles_fit_and_are_multiples_of_blocks(void **state)
{
    const td_problem p = product_of(TD_BINARY64, TD_OP_N, TD_OP_N);
    (void)state;
    for (int block = 1; block <= 64; block *= 2)
        for (double bytes = 2000.0; bytes < 1e5; bytes *= 1.5) {
            const td_tile_size size = td_tile_fitting(&p, block, bytes);
            if (size.m == 0) continue;
            const td_problem largest = td_tile_at(&p, size, 0);
            assert_true(td_tile_bytes(&largest) <= bytes);
            assert_true(size.m == M || size.m % block == 0);
            assert_true(size.n == N || size.n % block == 0);
        }
    assert_int_equal(td_tile_fitting(&p, 64, 3.0 * TD_TILE_ALIGNMENT).m, 0);
    assert_int_equal(td_tile_fitting(&p, 4096, td_tile_bytes(&p) / 2.0).m, 0);
}

/* Each element of C is of one tile, and a tile's first row of op(A) and column of op(B) are those
 * of its first element. */
static void check_cover(const td_problem *p, td_tile_size size)
{
    const int64_t element = td_types[p->type].size;
    int times[M * N] = {0};
    for (int64_t i = 0; i < td_tile_count(p, size); i++) {
        const td_problem tile = td_tile_at(p, size, i);
        const int64_t at = ((char *)tile.c.data - (char *)p->c.data) / element, row = at % LD,
                      column = at / LD;
        const int64_t of_a = ((char *)tile.a.data - (char *)p->a.data) / element,
                      of_b = ((char *)tile.b.data - (char *)p->b.data) / element;
        assert_true(tile.k == K && tile.m > 0 && tile.n > 0);
        assert_int_equal(of_a, p->op_a == TD_OP_N ? row : row * LD);
        assert_int_equal(of_b, p->op_b == TD_OP_N ? column * LD : column);
        for (int64_t x = 0; x < tile.m * tile.n; x++)
            times[row + x % tile.m + (column + x / tile.m) * M]++;
    }
    for (int x = 0; x < M * N; x++) assert_int_equal(times[x], 1);
}

static void tiles_cover_c_once(void **state)
{
    static const td_tile_size sizes[] = {{M, N}, {32, 70}, {33, 7}, {1, 1}, {100, 64}};
    (void)state;
    for (int i = 0; i < 5 * 9; i++) {
        const td_problem p = product_of(i % 2 ? TD_BINARY64 : TD_COMPLEX_BINARY64, (td_op)(i % 3),
                                        (td_op)(i / 3 % 3));
        check_cover(&p, sizes[i / 9]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_one_tile),
        cmocka_unit_test(scaling_takes_c_alone),
        cmocka_unit_test(tiles_fit_and_are_multiples_of_blocks),
        cmocka_unit_test(tiles_cover_c_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
