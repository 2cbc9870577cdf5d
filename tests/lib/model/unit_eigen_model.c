/* The products of a step in which eigenvectors are refined, the model of them, and what mode `auto`
 * makes of them. */
#include "tests/support/test.h"
#include "tests/lib/support/asked.h"
#include "lib/model/eigen_model.h"
#include "tests/lib/support/predicted.h"

static int info;
static double elements[1], values[1];
static const td_eigen_solver solver;

static td_problem vectors(int64_t n)
{
    return (td_problem){.kind = TD_EIGEN,
                        .type = TD_BINARY64,
                        .triangle = TD_LOWER,
                        .n = n,
                        .a = {.data = elements, .ld = n},
                        .values = values,
                        .solver = &solver,
                        .info = &info,
                        .batch = 1};
}

static bool is_at(const td_matrix *x, const double *data) { return x->data == data && x->ld == 9; }

TEST(a_step_has_four_products)
{
    double at[5];
    const td_eigen_matrices m = {9, &at[0], &at[1], &at[2], &at[3], &at[4], NULL};
    const struct {
        double *a, *b, *c, alpha, beta;
        td_op op_a;
        td_region_kind region;
    } wanted[TD_EIGEN_PRODUCTS] = {
        [TD_EIGEN_AX] = {m.a, m.x, m.y, 1.0, 0.0, TD_OP_N, TD_REGION_ALL},
        [TD_EIGEN_XX] = {m.x, m.x, m.r, -1.0, 1.0, TD_OP_T, TD_REGION_LOWER},
        [TD_EIGEN_XAX] = {m.x, m.y, m.s, 1.0, 0.0, TD_OP_T, TD_REGION_LOWER},
        [TD_EIGEN_UPDATE] = {m.x, m.s, m.y, 1.0, 1.0, TD_OP_N, TD_REGION_ALL},
    };
    for (int i = 0; i < TD_EIGEN_PRODUCTS; i++) {
        const td_product p = td_eigen_product(&m, (td_eigen_product_id)i);
        assert_true(is_at(&p.a, wanted[i].a) && is_at(&p.b, wanted[i].b) &&
                    is_at(&p.c, wanted[i].c));
        assert_int_equal(p.op_a, wanted[i].op_a);
        assert_int_equal(p.op_b, TD_OP_N);
        assert_int_equal(p.region, wanted[i].region);
        assert_true(p.m == 9 && p.n == 9 && p.k == 9);
        assert_true(p.alpha.value.binary64 == wanted[i].alpha);
        assert_true(p.beta.value.binary64 == wanted[i].beta);
    }
}

/* Times grow with the order, on every card, and small matrices have none but cuSOLVER's. */
TEST(times_grow)
{
    int count;
    (void)td_ways(&count);
    for (const td_card *card = td_cards; card->name[0]; card++) {
        td_way_forecast by_way[TD_MOST_WAYS], before[TD_MOST_WAYS] = {{0}};
        td_model model;
        td_model_make(&model, card);
        for (int64_t n = 1; n < 40000; n = 2 * n + 1) {
            td_model_predict_eigen(&model, n, by_way);
            for (int i = 0; i < count; i++) {
                const bool is_timed = i == 0 || n >= TD_EIGEN_LEAST_ORDER;
                if (!is_timed) assert_true(by_way[i].seconds < 0.0);
                assert_true(by_way[i].seconds < 0.0 || by_way[i].seconds > before[i].seconds);
                before[i] = by_way[i];
            }
        }
    }
}

/* Where binary64 is fast, binary32 gains too little; where it is slow, large matrices gain. */
TEST(auto_takes_vectors_where_they_gain)
{
    td_options o = options_of_auto();
    const struct {
        const char *card;
        int64_t n;
        bool is_taken;
    } cases[] = {{H200, 1024, false},    {H200, 4096, false},        {H200, 8192, false},
                 {H100, 16384, false},   {A100, 4096, false},        {RTX4090, 128, false},
                 {RTX4090, 300, false},  {RTX4090, 4096, true},      {RTX4090, 8192, true},
                 {RTX4090, 16384, true}, {"NVIDIA L40S", 8192, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const td_model model = model_of(cases[i].card);
        const td_problem p = vectors(cases[i].n);
        const td_decision d = decide_call(&o, &p, &model);
        assert_int_equal(d.reason == NULL, cases[i].is_taken);
        if (!cases[i].is_taken)
            assert_true(d.reason == td_reason_slower || d.reason == td_reason_untimed);
    }
}

/* Vectors that stay too bad have taken more steps, and native's routine comes behind them. That is
 * known, and does not count against the mode. */
TEST(bad_vectors_cost_native_as_well)
{
    const td_options o = options_of_auto();
    const td_model model = model_of(RTX4090);
    for (int64_t n = 4096; n <= 16384; n *= 2) {
        const td_problem p = vectors(n);
        const td_decision d = decide_call(&o, &p, &model);
        assert_null(d.reason);
        assert_true(d.forecast.found_out > d.forecast.emulated + d.forecast.native);
        assert_true(d.forecast.found_out < 2.0 * d.forecast.emulated + d.forecast.native);
    }
}

/* Bits that begin as cuSOLVER's are the same nowhere else. */
TEST(reproducible_stays_native)
{
    td_options o = options_of_auto();
    const td_model model = model_of(RTX4090);
    const td_problem p = vectors(8192);
    set_option(&o, TD_OPTION_STRATEGY, "reproducible");
    assert_ptr_equal(decide_call(&o, &p, &model).reason, td_reason_narrow);
    set_option(&o, TD_OPTION_MODE, "fp64");
    assert_ptr_equal(decide_call(&o, &p, &model).reason, td_reason_narrow);
}
