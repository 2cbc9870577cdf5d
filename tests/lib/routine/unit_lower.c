/* unit_lower.c - which products the routines are, and which elements of C a triangle has. */
#include "tests/support/test.h"

#include "lib/routine/lower.h"

static double memory[3]; /* a, b and c point to its elements */

/* A call with all that any kind looks at; m 6, n 7, k 5. */
static td_problem call_of(td_kind kind, td_op op, td_triangle triangle)
{
    return (td_problem){.kind = kind,
                        .type = TD_BINARY64,
                        .op_a = op,
                        .triangle = triangle,
                        .m = 6,
                        .n = 7,
                        .k = 5,
                        .a = {.data = memory, .ld = 9},
                        .b = {.data = memory + 1, .ld = 10},
                        .c = {.data = memory + 2, .ld = 8},
                        .batch = 1};
}

static td_product lowered(const td_problem *p)
{
    td_product product;
    assert_true(td_problem_is_valid(p));
    assert_true(td_lower(p, &product));
    assert_int_equal(product.routine, p->kind);
    assert_ptr_equal(product.c.data, memory + 2);
    return product;
}

TEST(a_product_is_itself)
{
    td_problem p = call_of(TD_PRODUCT, TD_OP_C, TD_UPPER);
    p.op_b = TD_OP_T;
    const td_product product = lowered(&p);
    assert_true(product.m == 6 && product.n == 7 && product.k == 5);
    assert_true(product.op_a == TD_OP_C && product.op_b == TD_OP_T);
    assert_ptr_equal(product.a.data, memory);
    assert_ptr_equal(product.b.data, memory + 1);
    assert_int_equal(product.region, TD_REGION_ALL);
}

/* Updates with A alone, with A and B, and with both in both orders. */
TEST(an_update_is_a_product_of_a_triangle)
{
    static const td_kind kinds[] = {TD_RANK_K, TD_RANK_KX, TD_RANK_2K};
    for (int i = 0; i < 3 * 3 * 2 * 2; i++) {
        const td_kind kind = kinds[i % 3];
        const td_op op = (td_op)(i / 3 % 3);
        td_problem p = call_of(kind, op, i / 9 % 2 ? TD_UPPER : TD_LOWER);
        p.is_hermitian = i / 18;
        const td_op transposed = p.is_hermitian ? TD_OP_C : TD_OP_T;
        const td_product product = lowered(&p);
        assert_true(product.m == 7 && product.n == 7);
        assert_int_equal(product.op_a, op);
        assert_int_equal(product.op_b, op == TD_OP_N ? transposed : TD_OP_N);
        assert_ptr_equal(product.a.data, memory);
        assert_ptr_equal(product.b.data, kind == TD_RANK_K ? memory : memory + 1);
        assert_true(product.b.ld == (kind == TD_RANK_K ? 9 : 10) && product.c.ld == 8);
        assert_int_equal(product.region, i / 9 % 2 ? TD_REGION_UPPER : TD_REGION_LOWER);
        assert_int_equal(product.has_real_diagonal, p.is_hermitian);
        assert_int_equal(product.adds_mirror, kind == TD_RANK_2K && p.is_hermitian);
        assert_int_equal(td_product_has_rest(&product), kind == TD_RANK_2K && !p.is_hermitian);
        assert_int_equal(product.k, td_product_has_rest(&product) ? 10 : 5);
    }
}

TEST(a_symmetric_update_of_rank_2k_joins_its_factors)
{
    const td_problem p = call_of(TD_RANK_2K, TD_OP_T, TD_LOWER);
    const td_product product = lowered(&p);
    assert_ptr_equal(product.rest_a.data, memory + 1);
    assert_ptr_equal(product.rest_b.data, memory);
    assert_true(product.rest_a.ld == 10 && product.rest_b.ld == 9);
}

/* From the left A is the first factor, from the right the second one. */
TEST(a_routine_with_a_side_is_a_product_in_that_order)
{
    for (int i = 0; i < 2 * 2 * 2 * 3 * 2; i++) {
        const td_kind kind = i % 2 ? TD_TRIANGULAR_PRODUCT : TD_SYMMETRIC_PRODUCT;
        const bool is_left = i / 2 % 2, is_triangular = kind == TD_TRIANGULAR_PRODUCT;
        const td_op op = is_triangular ? (td_op)(i / 8 % 3) : TD_OP_N;
        td_problem p = call_of(kind, op, i / 4 % 2 ? TD_UPPER : TD_LOWER);
        p.side = is_left ? TD_LEFT : TD_RIGHT;
        p.diagonal = i / 24 ? TD_UNIT_DIAGONAL : TD_NON_UNIT_DIAGONAL;
        p.is_hermitian = !is_triangular && i / 24;
        const td_product product = lowered(&p);
        const td_form form = is_left ? product.form_a : product.form_b,
                      other = is_left ? product.form_b : product.form_a;
        assert_true(product.m == 6 && product.n == 7 && product.k == (is_left ? 6 : 7));
        assert_ptr_equal(product.a.data, is_left ? memory : memory + 1);
        assert_ptr_equal(product.b.data, is_left ? memory + 1 : memory);
        assert_int_equal(is_left ? product.op_a : product.op_b, op);
        assert_int_equal(is_left ? product.op_b : product.op_a, TD_OP_N);
        assert_int_equal(form.storage, is_triangular ? TD_STORED_TRIANGULAR : TD_STORED_MIRRORED);
        assert_int_equal(form.triangle, p.triangle);
        assert_int_equal(form.is_unit, is_triangular && i / 24);
        assert_int_equal(form.is_hermitian, p.is_hermitian);
        assert_int_equal(other.storage, TD_STORED_FULL);
        assert_int_equal(product.region, TD_REGION_ALL);
        assert_false(product.has_real_diagonal || product.adds_mirror);
        assert_false(td_product_has_rest(&product));
    }
}

/* Scalars of a lowered product are what the routine's were. */
TEST(scalars_keep_their_types)
{
    static const struct {
        td_kind kind;
        td_type alpha, beta;
    } hermitian[] = {
        {TD_SYMMETRIC_PRODUCT, TD_COMPLEX_BINARY64, TD_COMPLEX_BINARY64},
        {TD_RANK_K, TD_BINARY64, TD_BINARY64},
        {TD_RANK_KX, TD_COMPLEX_BINARY64, TD_BINARY64},
        {TD_RANK_2K, TD_COMPLEX_BINARY64, TD_BINARY64},
    };
    for (int i = 0; i < (int)(sizeof hermitian / sizeof *hermitian); i++) {
        td_problem p = call_of(hermitian[i].kind, TD_OP_N, TD_LOWER);
        p.type = TD_COMPLEX_BINARY64;
        for (int h = 0; h < 2; h++) {
            p.is_hermitian = h;
            const td_product product = lowered(&p);
            const td_type alpha = h ? hermitian[i].alpha : TD_COMPLEX_BINARY64,
                          beta = h ? hermitian[i].beta : TD_COMPLEX_BINARY64;
            assert_int_equal(td_problem_type_of_alpha(&p), alpha);
            assert_int_equal(td_problem_type_of_beta(&p), beta);
            assert_int_equal(product.alpha_is_real, alpha != p.type);
            assert_int_equal(product.beta_is_real, beta != p.type);
        }
    }
}

TEST(other_routines_are_no_products)
{
    for (int kind = TD_LU_FACTOR; kind <= TD_KIND_COUNT; kind++) {
        const td_problem p = call_of((td_kind)kind, TD_OP_N, TD_LOWER);
        td_product product;
        assert_false(td_lower(&p, &product));
    }
    const td_problem p = call_of(TD_TRIANGULAR_SOLVE, TD_OP_N, TD_LOWER);
    td_product product;
    assert_false(td_lower(&p, &product));
}

/* Of complex matrices an update has one transpose: the plain one, or of a Hermitian C the conjugate
 * one. */
TEST(the_other_transpose_is_invalid)
{
    for (int i = 0; i < 4; i++) {
        td_problem p = call_of(TD_RANK_K, i % 2 ? TD_OP_C : TD_OP_T, TD_LOWER);
        p.is_hermitian = i / 2;
        assert_true(td_problem_is_valid(&p));
        p.type = TD_COMPLEX_BINARY64;
        assert_int_equal(td_problem_is_valid(&p), i % 2 == i / 2);
    }
}

TEST(a_triangle_must_be_named)
{
    const td_problem p = call_of(TD_RANK_K, TD_OP_N, (td_triangle)2);
    assert_false(td_problem_is_valid(&p));
}

/* Of every block of some sizes in parts of some places: what td_region_has says of its elements. */
TEST(blocks_are_as_their_elements)
{
    enum { M = 40, N = 35 };
    static const int sizes[][2] = {{4, 4}, {16, 4}, {3, 8}, {1, 1}, {40, 35}};
    static const int64_t places[] = {0, 16, -16, 100, -100, 7};
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
        for (int e = 0; e < M * N; e++) {
            const td_row_range rows = td_region_rows(&region, M, e / M);
            assert_int_equal(rows.first <= e % M && e % M < rows.end,
                             td_region_has(&region, e % M, e / M));
        }
        const td_region moved = td_region_from(&region, 6, 3);
        assert_int_equal(td_region_has(&moved, 1, 4), td_region_has(&region, 7, 7));
    }
}
