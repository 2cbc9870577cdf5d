/* unit_lower.c - which products the routines are, and which elements of C a triangle has. */
#include "../support/test.h"

#include "../../lib/call/lower.h"

static td_problem update(td_op op, td_triangle triangle)
{
    static double memory[2];
    return (td_problem){.kind = TD_RANK_K,
                        .type = TD_BINARY64,
                        .op_a = op,
                        .triangle = triangle,
                        .n = 7,
                        .k = 5,
                        .a = {.data = memory, .ld = 9},
                        .c = {.data = memory + 1, .ld = 8},
                        .batch = 1};
}

static void a_product_is_itself(void **state)
{
    td_problem p = update(TD_OP_C, TD_UPPER), product;
    (void)state;
    p.kind = TD_PRODUCT;
    p.m = 3;
    p.op_b = TD_OP_T;
    p.b = p.c;
    assert_true(td_lower(&p, &product));
    assert_int_equal(product.kind, TD_PRODUCT);
    assert_true(product.m == 3 && product.n == 7 && product.k == 5);
    assert_true(product.op_a == TD_OP_C && product.op_b == TD_OP_T);
    assert_ptr_equal(product.a.data, p.a.data);
    assert_ptr_equal(product.b.data, p.b.data);
    assert_int_equal(product.region, TD_REGION_ALL);
}

static void an_update_is_a_product_of_a_triangle(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        const td_op op = (td_op)(i % 3);
        td_problem p = update(op, i < 3 ? TD_LOWER : TD_UPPER), product;
        assert_true(td_lower(&p, &product));
        assert_int_equal(product.kind, TD_PRODUCT);
        assert_true(product.m == 7 && product.n == 7 && product.k == 5);
        assert_int_equal(product.op_a, op);
        assert_int_equal(product.op_b, op == TD_OP_N ? TD_OP_T : TD_OP_N);
        assert_ptr_equal(product.a.data, p.a.data);
        assert_ptr_equal(product.b.data, p.a.data);
        assert_true(product.b.ld == 9 && product.c.ld == 8);
        assert_int_equal(product.region, i < 3 ? TD_REGION_LOWER : TD_REGION_UPPER);
        assert_true(td_problem_is_valid(&p) && td_problem_is_valid(&product));
        p.is_hermitian = true;
        assert_true(td_lower(&p, &product));
        assert_int_equal(product.op_b, op == TD_OP_N ? TD_OP_C : TD_OP_N);
    }
}

static void other_routines_are_no_products(void **state)
{
    (void)state;
    for (int kind = 0; kind < TD_KIND_COUNT; kind++) {
        td_problem p = update(TD_OP_N, TD_LOWER), product;
        p.kind = (td_kind)kind;
        assert_int_equal(td_lower(&p, &product), kind == TD_PRODUCT || kind == TD_RANK_K);
    }
}

static void a_triangle_must_be_named(void **state)
{
    const td_problem p = update(TD_OP_N, (td_triangle)2);
    (void)state;
    assert_false(td_problem_is_valid(&p));
}

/* Of every block of some sizes in parts of some places: what td_region_has says of its elements. */
static void blocks_are_as_their_elements(void **state)
{
    enum { M = 40, N = 35 };
    static const int sizes[][2] = {{4, 4}, {16, 4}, {3, 8}, {1, 1}, {40, 35}};
    static const int64_t places[] = {0, 16, -16, 100, -100, 7};
    (void)state;
    for (int r = 0; r < 2 * 3 * 6 * 5; r++) {
        const td_region region = {(td_region_kind)(r % 3), places[r / 3 % 6], r / 90};
        const int *const size = sizes[r / 18 % 5];
        int64_t blocks = 0;
        for (int j = 0; j < N; j += size[1])
            for (int i = 0; i < M; i += size[0]) {
                int inside = 0;
                for (int e = 0; e < size[0] * size[1]; e++) {
                    const int64_t row = i + e % size[0], column = j + e / size[0],
                                  below = row / (1 << region.row_shift) + region.below - column;
                    const bool is_in = region.kind == TD_REGION_ALL ||
                                       (region.kind == TD_REGION_LOWER ? below >= 0 : below <= 0);
                    assert_int_equal(td_region_has(&region, row, column), is_in);
                    inside += is_in;
                }
                assert_int_equal(td_region_meets(&region, i, j, size[0], size[1]), inside > 0);
                assert_int_equal(td_region_holds(&region, i, j, size[0], size[1]),
                                 inside == size[0] * size[1]);
                blocks += inside > 0;
            }
        assert_int_equal(td_region_blocks(&region, M, N, size[0], size[1]), blocks);
        const td_region moved = td_region_from(&region, 6, 3);
        assert_int_equal(td_region_has(&moved, 1, 4), td_region_has(&region, 7, 7));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_is_itself),
        cmocka_unit_test(an_update_is_a_product_of_a_triangle),
        cmocka_unit_test(other_routines_are_no_products),
        cmocka_unit_test(a_triangle_must_be_named),
        cmocka_unit_test(blocks_are_as_their_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
