/* The cut of Cholesky factorisations, the model of them, and what mode `auto` makes of them. */
#include <math.h>

#include "tests/support/test.h"
#include "tests/lib/support/asked.h"
#include "lib/model/cholesky_model.h"
#include "lib/model/factor_times.h"
#include "lib/routine/cholesky_steps.h"
#include "lib/routine/operations.h"
#include "lib/routine/sizes.h"
#include "tests/lib/support/predicted.h"

static int info;
static double elements[1];

static td_problem factors(td_type type, int64_t n, td_triangle triangle)
{
    return (td_problem){.kind = TD_FACTOR_CHOLESKY,
                        .type = type,
                        .triangle = triangle,
                        .n = n,
                        .a = {.data = elements, .ld = n + 5},
                        .info = &info,
                        .batch = 1};
}

/* Panels follow each other to the end. */
TEST(panels_have_all_columns)
{
    const int64_t orders[] = {1,    100,   4096, 4608,  4609,  8192,
                              8193, 10240, 9999, 12345, 16384, 100000};
    for (size_t i = 0; i < 2 * sizeof orders / sizeof *orders; i++) {
        const td_problem p =
            factors(i % 2 ? TD_COMPLEX_BINARY64 : TD_BINARY64, orders[i / 2], TD_LOWER);
        const td_cholesky_cut cut = td_cholesky_cut_of(&p);
        int64_t first = 0, panels = 0;
        while (first + td_cholesky_columns(cut, p.n, first) < p.n) {
            assert_int_equal(panels * cut.panel, first);
            first += td_cholesky_columns(cut, p.n, first);
            panels++;
        }
        assert_int_equal(first + td_cholesky_columns(cut, p.n, first), p.n);
        assert_int_equal(td_cholesky_panels(cut, p.n), panels);
    }
}

static int64_t place_of(const td_matrix *x) { return (double *)x->data - elements; }

/* A - L L' of the triangle behind a panel, or A - U' U. */
TEST(products_are_of_the_triangle_behind)
{
    const td_cholesky_cut cut = {.panel = 2048, .whole = 8192, .group = 1};
    const int64_t n = 16384, ld = n + 5, k = cut.panel;
    for (int u = 0; u < 2; u++) {
        const td_problem p = factors(TD_BINARY64, n, u ? TD_UPPER : TD_LOWER);
        const td_product product = td_cholesky_product(cut, &p, 1);
        assert_int_equal(product.region, u ? TD_REGION_UPPER : TD_REGION_LOWER);
        assert_int_equal(product.m, n - 2 * k);
        assert_int_equal(product.n, n - 2 * k);
        assert_int_equal(product.k, k);
        assert_int_equal(product.op_a, u ? TD_OP_T : TD_OP_N);
        assert_int_equal(product.op_b, u ? TD_OP_N : TD_OP_T);
        assert_int_equal(place_of(&product.a), u ? k + 2 * k * ld : 2 * k + k * ld);
        assert_int_equal(place_of(&product.b), place_of(&product.a));
        assert_int_equal(place_of(&product.c), 2 * k + 2 * k * ld);
        assert_true(product.alpha.value.binary64 == -1.0);
        assert_true(product.beta.value.binary64 == 1.0);
    }
}

/* Counts, by panels, how often the terms of one have been taken away from rows and columns, and by
 * how many products. */
enum { MOST_PANELS = 18 };
typedef struct {
    int of[MOST_PANELS][MOST_PANELS][MOST_PANELS]; /* terms, rows, columns */
    int products[MOST_PANELS][MOST_PANELS];        /* rows, columns */
} taken;

static void count(taken *t, const td_problem *p, int64_t panel, int panels,
                  const td_product *product)
{
    const bool is_lower = p->triangle == TD_LOWER, is_triangle = product->region != TD_REGION_ALL;
    const int64_t c = place_of(&product->c),
                  place_a = place_of(is_lower ? &product->a : &product->b),
                  along = c % p->a.ld / panel, across = c / p->a.ld / panel;
    const int row0 = (int)(is_lower ? along : across), column0 = (int)(is_lower ? across : along),
              rows = (int)(td_ceil_div(is_lower ? product->m : product->n, panel)),
              columns = (int)(td_ceil_div(is_lower ? product->n : product->m, panel)),
              term0 = (int)((is_lower ? place_a / p->a.ld : place_a % p->a.ld) / panel);
    assert_int_equal(product->k % panel, 0);
    for (int i = row0; i < row0 + rows; i++)
        for (int j = column0; j < column0 + columns; j++) {
            if (i >= panels || j >= panels || (is_triangle && i < j)) continue;
            t->products[i][j]++;
            for (int term = term0; term < term0 + (int)(product->k / panel); term++)
                t->of[term][i][j]++;
        }
}

static double operations(const td_product *product)
{
    return (double)product->m * (double)product->n * (double)product->k *
           (product->region == TD_REGION_ALL ? 2.0 : 1.0);
}

static void check_largest(td_cholesky_cut cut, const td_problem *p)
{
    const td_product largest = td_cholesky_product(cut, p, td_cholesky_largest_product(cut, p));
    for (int64_t i = 0; i < td_cholesky_products(cut, p->n); i++) {
        const td_product product = td_cholesky_product(cut, p, i);
        assert_true(operations(&product) <= operations(&largest));
    }
}

static int most_products(const taken *t, int panels)
{
    int most = 0;
    for (int i = 0; i < panels; i++)
        for (int j = 0; j < panels; j++)
            if (t->products[i][j] > most) most = t->products[i][j];
    return most;
}

/* Each element has met the terms of each panel before its own once when its panel is factored, and
 * no terms that are not made; in groups of 1 to 8 panels. */
TEST(elements_meet_all_terms_once)
{
    const int64_t panel = 64;
    for (int which = 0; which < 8 * MOST_PANELS; which++) {
        const int panels = 1 + which / 8;
        const td_cholesky_cut cut = {panel, panel, .group = 1 << which % 4};
        const td_problem p =
            factors(TD_BINARY64, panel * panels - 5, which / 4 % 2 ? TD_UPPER : TD_LOWER);
        taken t = {0};
        int64_t number = 0, most_terms = 0;
        assert_int_equal(td_cholesky_panels(cut, p.n), panels - 1);
        for (int done = 0; done < panels; done++) {
            for (int i = done; i < panels; i++)
                for (int term = 0; term < panels; term++)
                    assert_int_equal(t.of[term][i][done], term < done);
            if (done + 1 == panels) break;
            assert_int_equal(td_cholesky_first_product(cut, done), number);
            for (int i = 0; i < td_cholesky_products_behind(cut, p.n, done); i++) {
                const td_product product = td_cholesky_product(cut, &p, number++);
                most_terms = td_larger(most_terms, product.k);
                count(&t, &p, panel, panels, &product);
            }
        }
        assert_int_equal(td_cholesky_products(cut, p.n), number);
        assert_int_equal(td_cholesky_products_of_element(cut, p.n), most_products(&t, panels));
        if (number > 0) assert_int_equal(td_cholesky_most_terms(cut, p.n), most_terms);
        check_largest(cut, &p);
    }
}

/* Beyond what was measured, too. */
TEST(native_times_are_not_below_those_of_operations)
{
    for (const td_card *card = td_cards; card->name[0]; card++)
        for (int64_t n = 1; n < 200000; n = n * 4 / 3 + 1)
            for (int kind = 0; kind < 4; kind++) {
                td_model model;
                td_model_make(&model, card);
                const td_problem p = factors(kind & 1 ? TD_COMPLEX_BINARY64 : TD_BINARY64, n,
                                             kind & 2 ? TD_UPPER : TD_LOWER);
                assert_true(td_model_native_cholesky(&model, &p) >=
                            td_operations(&p) / model.rates.matrix64);
            }
}

/* Times grow with the order. */
TEST(native_times_grow)
{
    const td_model models[] = {model_of(H100), model_of(RTX4090)};
    for (int i = 0; i < 2; i++) {
        double before[2] = {0.0, 0.0};
        for (int64_t order = 1; order < 40000; order = order * 5 / 4 + 1)
            for (int u = 0; u < 2; u++) {
                const td_problem p = factors(TD_BINARY64, order, u ? TD_UPPER : TD_LOWER);
                const double seconds = td_model_native_cholesky(&models[i], &p);
                assert_true(seconds > before[u]);
                before[u] = seconds;
            }
    }
}

/* Ways have a time on cards that were measured, which grows with the matrix. */
TEST(ways_differ_by_their_products)
{
    for (int64_t order = TD_CHOLESKY_LEAST_ORDER; order < 20000; order = 3 * order + 70)
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            const td_type type = is_complex ? TD_COMPLEX_BINARY64 : TD_BINARY64;
            const td_problem p = factors(type, order, TD_LOWER),
                             larger = factors(type, 2 * order, TD_LOWER);
            expect_ways(td_model_predict_cholesky, &p, &larger, true);
        }
}

static td_product update(const td_problem *p, int64_t number)
{
    return td_cholesky_product(td_cholesky_cut_of(p), p, number);
}

/* Neighbours differ much, so that none stands for others: ways differ by the sum of their times. */
TEST(each_product_is_predicted)
{
    const td_model model = model_of(H200);
    const td_problem p = factors(TD_COMPLEX_BINARY64, 30000, TD_LOWER);
    td_way_forecast by_way[TD_MOST_WAYS];
    double sums[TD_MOST_WAYS] = {0.0}, once[TD_MOST_WAYS];
    int ways;
    (void)td_ways(&ways);
    for (int64_t i = 0; i < td_cholesky_products(td_cholesky_cut_of(&p), p.n); i++) {
        const td_real_product real = td_factor_real_update(&p, update, i);
        td_model_predict(&model, &real, once);
        for (int way = 1; way < ways; way++) sums[way] += once[way];
    }
    td_model_predict_cholesky(&model, &p, by_way);
    for (int way = 2; way < ways; way++) {
        const double wanted = sums[way] - sums[1];
        assert_true(fabs(by_way[way].seconds - by_way[1].seconds - wanted) <= 1e-9 * sums[way]);
    }
}

TEST(auto_takes_factors_where_they_gain)
{
    td_options o = options_of_auto();
    const td_model slow = model_of(RTX4090), fast = model_of(H100);
    const td_problem large = factors(TD_BINARY64, 16384, TD_UPPER);
    td_decision d = decide_call(&o, &large, &fast);
    assert_null(d.reason);
    assert_non_null(d.engine);
    d = decide_call(&o, &large, &slow);
    assert_ptr_equal(d.reason, td_reason_untimed);
}

/* On an H200 cuSOLVER is faster at the lower triangle than at the upper one. */
TEST(auto_knows_the_triangles_apart)
{
    static const struct {
        int64_t n;
        td_triangle triangle;
        bool is_taken, is_complex_taken;
    } cases[] = {
        {16, TD_UPPER, false, false}, {95, TD_UPPER, false, false}, {128, TD_UPPER, true, true},
        {1024, TD_UPPER, true, true}, {4096, TD_UPPER, true, true}, {16384, TD_UPPER, true, true},
        {95, TD_LOWER, false, false}, {128, TD_LOWER, true, true},  {256, TD_LOWER, true, true},
        {512, TD_LOWER, true, true},  {1024, TD_LOWER, true, true}, {2048, TD_LOWER, true, true},
        {4096, TD_LOWER, true, true}, {6000, TD_LOWER, true, true}, {8192, TD_LOWER, true, true},
        {16384, TD_LOWER, true, true}};
    td_options o = options_of_auto();
    const td_model model = model_of(H200);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const td_problem p = factors(TD_BINARY64, cases[i].n, cases[i].triangle),
                         z = factors(TD_COMPLEX_BINARY64, cases[i].n, cases[i].triangle);
        assert_int_equal(decide_call(&o, &p, &model).reason == NULL, cases[i].is_taken);
        assert_int_equal(decide_call(&o, &z, &model).reason == NULL, cases[i].is_complex_taken);
    }
}
