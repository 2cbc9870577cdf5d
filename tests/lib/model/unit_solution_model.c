/* The steps of solutions and inverses by factors, the model of them, and what mode `auto` makes of
 * them. */

#include "tests/support/test.h"
#include "tests/lib/support/asked.h"
#include "lib/model/solution_model.h"
#include "lib/routine/solution_steps.h"
#include "tests/lib/support/predicted.h"

static int info, pivots[1];
static double elements[2];

static td_problem call(td_kind kind, td_type type, int64_t n, int64_t vectors)
{
    return (td_problem){.kind = kind,
                        .type = type,
                        .n = n,
                        .k = vectors,
                        .a = {.data = elements, .ld = n},
                        .b = {.data = elements, .ld = n},
                        .pivots = kind == TD_LU_SOLVE ? pivots : NULL,
                        .info = &info,
                        .batch = 1};
}

/* Of op(P' L U), L L' and U' U, each factor in its turn. */
TEST(solves_are_of_one_factor_after_the_other)
{
    static const struct {
        td_kind kind;
        td_op op;
        td_triangle triangle;
        td_triangle of[2];
        td_op ops[2];
    } cases[] = {{TD_LU_SOLVE, TD_OP_N, TD_LOWER, {TD_LOWER, TD_UPPER}, {TD_OP_N, TD_OP_N}},
                 {TD_LU_SOLVE, TD_OP_T, TD_LOWER, {TD_UPPER, TD_LOWER}, {TD_OP_T, TD_OP_T}},
                 {TD_LU_SOLVE, TD_OP_C, TD_LOWER, {TD_UPPER, TD_LOWER}, {TD_OP_C, TD_OP_C}},
                 {TD_CHOLESKY_SOLVE, TD_OP_N, TD_LOWER, {TD_LOWER, TD_LOWER}, {TD_OP_N, TD_OP_C}},
                 {TD_CHOLESKY_SOLVE, TD_OP_N, TD_UPPER, {TD_UPPER, TD_UPPER}, {TD_OP_C, TD_OP_N}},
                 {TD_CHOLESKY_INVERT, TD_OP_N, TD_UPPER, {TD_UPPER}, {TD_OP_C}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_problem p = call(cases[i].kind, TD_COMPLEX_BINARY64, 9, 4);
        p.op_a = cases[i].op;
        p.triangle = cases[i].triangle;
        for (int s = 0; s < td_solution_solves(&p); s++) {
            const td_problem solve = td_solution_solve(&p, s);
            assert_int_equal(solve.triangle, cases[i].of[s]);
            assert_int_equal(solve.op_a, cases[i].ops[s]);
            assert_int_equal(solve.diagonal == TD_UNIT_DIAGONAL,
                             p.kind == TD_LU_SOLVE && solve.triangle == TD_LOWER);
            assert_int_equal(solve.m, 9);
            assert_int_equal(solve.n, p.kind == TD_CHOLESKY_INVERT ? 9 : 4);
        }
    }
}

/* A vector of a lower triangular right-hand side takes part from its first row on. */
TEST(zeros_of_a_lower_triangle_are_left_out)
{
    const int64_t rows = 64, order = 300;
    const td_problem p = call(TD_CHOLESKY_INVERT, TD_BINARY64, order, 0);
    const td_problem solve = td_solution_solve(&p, 0);
    for (int64_t block = 0; block < td_solve_blocks(&solve, rows); block++) {
        const int64_t behind = (block + 1) * rows;
        assert_int_equal(td_solve_block_of(&solve, rows, block).count,
                         behind < order ? behind : order);
        if (block == 0) continue;
        const td_product product = td_solve_update(&solve, rows, block);
        assert_int_equal(product.n, block * rows);
    }
}

/* Products of an inverse have all rows of Y, and the first of them every element of the result. */
TEST(products_of_an_inverse_have_all_rows)
{
    static double y[1];
    for (int64_t n = 1; n < 20000; n = 2 * n + 1) {
        const td_problem p = call(TD_CHOLESKY_INVERT, TD_BINARY64, n, 0);
        int64_t behind = n;
        for (int64_t i = 0; i < td_inverse_products(&p); i++) {
            const td_product product = td_inverse_product(&p, i, y, n);
            assert_int_equal(product.m, behind);
            assert_int_equal(product.n, behind);
            behind -= product.k;
            assert_int_equal((double *)product.a.data - y, behind);
            assert_int_equal(td_product_has_beta(&product), i > 0);
        }
        assert_int_equal(behind, 0);
    }
}

/* Of cuSOLVER, and in mode fp64, in milliseconds on an H200 (docs/results/h200-2026-11-29-solvers);
 * the model is not beyond half or twice of these. */
static const struct {
    td_kind kind;
    int64_t n, k;
    double native, fp64;
} measured[] = {
    {TD_LU_SOLVE, 512, 1, 0.183, 0.110},         {TD_LU_SOLVE, 2048, 1, 0.631, 0.554},
    {TD_LU_SOLVE, 8192, 1, 2.63, 2.76},          {TD_LU_SOLVE, 2048, 256, 2.32, 0.489},
    {TD_LU_SOLVE, 8192, 256, 9.92, 2.46},        {TD_LU_SOLVE, 4096, 4096, 9.28, 3.88},
    {TD_LU_SOLVE, 8192, 8192, 40.9, 25.8},       {TD_CHOLESKY_SOLVE, 512, 1, 0.098, 0.093},
    {TD_CHOLESKY_SOLVE, 2048, 1, 0.280, 0.527},  {TD_CHOLESKY_SOLVE, 8192, 1, 1.20, 2.66},
    {TD_CHOLESKY_SOLVE, 2048, 16, 1.10, 0.460},  {TD_CHOLESKY_SOLVE, 8192, 16, 7.02, 2.24},
    {TD_CHOLESKY_SOLVE, 4096, 4096, 6.00, 3.67}, {TD_CHOLESKY_INVERT, 512, 0, 0.506, 0.117},
    {TD_CHOLESKY_INVERT, 2048, 0, 3.66, 0.592},  {TD_CHOLESKY_INVERT, 4096, 0, 13.0, 2.33},
    {TD_CHOLESKY_INVERT, 16384, 0, 226.5, 79.5},
};

TEST(times_are_near_what_was_measured)
{
    const td_model model = model_of(H200);
    td_way_forecast by_way[TD_MOST_WAYS];
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const td_problem p = call(measured[i].kind, TD_BINARY64, measured[i].n, measured[i].k);
        td_model_predict_solution(&model, &p, by_way);
        const double of_native = 1e3 * by_way[0].seconds / measured[i].native,
                     of_fp64 = 1e3 * by_way[td_way_of_binary64()].seconds / measured[i].fp64;
        assert_true(of_native > 0.5 && of_native < 2.0 && of_fp64 > 0.5 && of_fp64 < 2.0);
    }
}

/* One vector stays cuSOLVER's, whose solves are cuBLAS's. */
TEST(auto_takes_what_is_faster)
{
    const td_options o = options_of_auto();
    const td_model fast = model_of(H200);
    td_problem one = call(TD_LU_SOLVE, TD_BINARY64, 8192, 1);
    assert_ptr_equal(decide_call(&o, &one, &fast).reason, td_reason_slower);
    one = call(TD_CHOLESKY_SOLVE, TD_BINARY64, 8192, 1);
    assert_ptr_equal(decide_call(&o, &one, &fast).reason, td_reason_slower);
    one = call(TD_LU_SOLVE, TD_COMPLEX_BINARY64, 512, 1); /* 0.21 ms, and 0.25 in mode fp64 */
    assert_ptr_equal(decide_call(&o, &one, &fast).reason, td_reason_slower);
    const td_problem some = call(TD_LU_SOLVE, TD_BINARY64, 8192, 256),
                     all = call(TD_LU_SOLVE, TD_BINARY64, 8192, 8192),
                     inverse = call(TD_CHOLESKY_INVERT, TD_BINARY64, 2048, 0),
                     wrong = call(TD_LU_SOLVE, TD_BINARY32, 2048, 1);
    assert_string_equal(decide_call(&o, &some, &fast).text, "fp64");
    assert_string_equal(decide_call(&o, &all, &fast).text, "ozaki2");
    assert_string_equal(decide_call(&o, &inverse, &fast).text, "fp64");
    assert_ptr_equal(decide_call(&o, &wrong, &fast).reason, td_reason_routine);
}

/* A card with little binary64 takes longer for the operations of an inverse than an H200 for all
 * of it. */
TEST(inverses_take_no_less_than_their_operations)
{
    const td_options o = options_of_auto();
    const td_model model = model_of(RTX4090);
    td_way_forecast by_way[TD_MOST_WAYS];
    for (int64_t n = 1024; n <= 16384; n *= 2) {
        const td_problem p = call(TD_CHOLESKY_INVERT, TD_BINARY64, n, 0),
                         z = call(TD_CHOLESKY_INVERT, TD_COMPLEX_BINARY64, n, 0);
        const double operations = 2.0 / 3.0 * (double)n * (double)n * (double)n;
        td_model_predict_solution(&model, &p, by_way);
        assert_true(by_way[0].seconds >= operations / model.rates.matrix64);
        td_model_predict_solution(&model, &z, by_way);
        assert_true(by_way[0].seconds >= 4.0 * operations / model.rates.matrix64);
    }
    const td_problem inverse = call(TD_CHOLESKY_INVERT, TD_BINARY64, 8192, 0);
    assert_string_equal(decide_call(&o, &inverse, &model).text, "ozaki2");
}

/* A call without an info is for cuSOLVER to refuse. */
TEST(calls_that_cusolver_refuses_are_its_own)
{
    const td_options o = options_of_auto();
    const td_model model = model_of(H200);
    td_problem p = call(TD_CHOLESKY_SOLVE, TD_BINARY64, 512, 20);
    p.info = NULL;
    assert_ptr_equal(decide_call(&o, &p, &model).reason, td_reason_invalid);
    p = call(TD_CHOLESKY_SOLVE, TD_BINARY64, 512, 0);
    assert_ptr_equal(decide_call(&o, &p, &model).reason, td_reason_empty);
}
