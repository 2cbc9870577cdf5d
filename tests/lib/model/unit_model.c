/* The model of products, with the modes of the library: predictions against recorded timings, and
 * factors.
 *
 * usage: unit_model RECORDED, which has single timings of products */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "lib/model/factors.h"
#include "tests/lib/support/predicted.h"

static const char *recorded;

/* ---- times ---- */

/* Line by line: card,m,n,k,batch,beta,mode,ms. The model is meant to be right to a tenth where a
 * choice depends on it; a burst of calls and a long series of them differ by more than that. */
TEST(predictions_are_near_what_was_recorded)
{
    const double widest = 1.45;
    char line[256], card[64], mode[32];
    double beta, ms, worst = 1.0;
    long m, n, k, batch;
    int lines = 0;
    FILE *file = fopen(recorded, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (; fgets(line, sizeof line, file); lines++) {
        assert_int_equal(sscanf(line, "%63[^,],%ld,%ld,%ld,%ld,%lf,%31[^,],%lf", card, &m, &n, &k,
                                &batch, &beta, mode, &ms),
                         8);
        const td_model model = model_of(card);
        td_real_product p = real_product(m, n, k, batch);
        td_parameter parameter;
        p.beta.value.binary64 = beta;
        const td_engine *engine = td_engine_parse(mode, &parameter);
        assert_non_null(engine);
        const double off = td_model_seconds(&model, engine, parameter, &p) / (ms * 1e-3);
        if (!(off < widest && off > 1.0 / widest))
            print_error("predicted %.2f times the time of %s", off, line);
        if (fabs(log(off)) > fabs(log(worst))) worst = off;
    }
    fclose(file);
    print_message("worst of %d predictions: %.2f times what was recorded\n", lines, worst);
    assert_true(lines >= 50 && worst < widest && worst > 1.0 / widest);
}

TEST(every_way_has_a_time_on_every_card)
{
    static const int64_t sizes[] = {1, 17, 1000, INT32_MAX};
    double seconds[TD_MOST_WAYS];
    int count;
    (void)td_ways(&count);
    assert_in_range(count, 5, TD_MOST_WAYS);
    for (const td_card *card = td_cards; card->name[0]; card++) {
        td_model model;
        td_model_make(&model, card);
        for (int i = 0; i < 4 * 4 * 4 * 4; i++) {
            const td_real_product p =
                real_product(sizes[i % 4], sizes[i / 4 % 4], sizes[i / 16 % 4], sizes[i / 64]);
            td_model_predict(&model, &p, seconds);
            for (int w = 0; w < count; w++) assert_true(seconds[w] > 1e-6 && isfinite(seconds[w]));
        }
    }
}

TEST(larger_products_take_longer)
{
    double seconds[2][TD_MOST_WAYS];
    int count;
    (void)td_ways(&count);
    for (const td_card *card = td_cards; card->name[0]; card++) {
        td_model model;
        td_model_make(&model, card);
        for (int64_t n = 1024; n <= 16384; n *= 2) {
            const td_real_product p[2] = {real_product(n, n, n, 1),
                                          real_product(2 * n, 2 * n, 2 * n, 1)};
            for (int i = 0; i < 2; i++) td_model_predict(&model, &p[i], seconds[i]);
            for (int w = 0; w < count; w++) assert_true(seconds[1][w] > 2.0 * seconds[0][w]);
        }
    }
}

/* cuBLAS has kernels for a C of few rows or columns: on a card on which nobody has timed them, they
 * do no operation in vain, so that nothing that copies whole operands first is faster. */
TEST(thin_products_are_native)
{
    static const int64_t few[] = {1, 2, 5, 16, 31}, many[] = {1, 31, 100, 1000, 20000},
                         terms[] = {1, 64, 1000, 30000};
    enum { FEW = 5, MANY = 5, TERMS = 4 };
    double seconds[TD_MOST_WAYS];
    int count;
    const td_way *way = td_ways(&count);
    for (const td_card *card = td_cards; card->name[0]; card++) {
        td_model model;
        td_model_make(&model, card);
        if (td_model_is_measured(&model)) continue;
        for (int i = 0; i < FEW * MANY * TERMS * 4; i++) {
            const int64_t x = few[i % FEW], y = many[i / FEW % MANY],
                          k = terms[i / FEW / MANY % TERMS],
                          batch = i / FEW / MANY / TERMS % 2 ? 50 : 1;
            const bool is_wide = i / FEW / MANY / TERMS / 2;
            const td_real_product p = real_product(is_wide ? x : y, is_wide ? y : x, k, batch);
            const double operations = 2.0 * (double)x * (double)y * (double)k * (double)batch,
                         bytes = 8.0 * (double)(x * k + y * k + x * y) * (double)batch,
                         least = operations / model.rates.matrix64 + bytes / model.rates.bytes;
            td_model_predict(&model, &p, seconds);
            if (!(seconds[0] <= 2.0 * least + 25e-6))
                print_error("%s: %ld x %ld x %ld, batch %ld: %.3g s for %.3g\n", card->name,
                            (long)p.m, (long)p.n, (long)k, (long)batch, seconds[0], least);
            assert_true(seconds[0] <= 2.0 * least + 25e-6);
            for (int w = 1; w < count; w++)
                assert_true(x > 5 || seconds[w] < 0.0 || way[w].engine->is_never_faster ||
                            seconds[w] > 0.8 * seconds[0]);
        }
    }
}

TEST(a_device_that_says_nothing_has_a_model)
{
    static const int nothing[TD_CARD_ATTRIBUTES],
        toy[TD_CARD_ATTRIBUTES] = {8, 9, 10, 1000000, 5000000, 64};
    double seconds[TD_MOST_WAYS];
    td_model model;
    const td_card card = td_card_of("unknown", nothing), other = td_card_of("Toy", toy);
    td_model_make(&model, &card);
    const td_real_product p = real_product(100, 100, 100, 1);
    td_model_predict(&model, &p, seconds);
    assert_true(seconds[0] > 0.0 && isfinite(seconds[0]));
    assert_true(other.hertz == 1e9 && other.bytes_per_second == 80e9 && other.major == 8);
}

/* ---- factors ---- */

/* A factor moves the product that it belongs to by just so much, and none that another belongs
 * to. */
TEST(each_factor_has_a_product)
{
    static signed char factors[TD_FACTORS];
    td_model plain = model_of(RTX4090), moved = plain;
    moved.factors[0] = factors;
    for (int at = 0; at < TD_FACTORS; at++) {
        const td_real_product own = td_factor_problem(at),
                              other = td_factor_problem((at + 100) % TD_FACTORS);
        const double before = td_model_seconds(&plain, td_engines[0], (td_parameter){0}, &own);
        if (own.batch == 1) assert_int_equal(td_factor_at(&own), at);
        factors[at] = -TD_OCTAVE;
        const double after = td_model_seconds(&moved, td_engines[0], (td_parameter){0}, &own),
                     apart = td_model_seconds(&moved, td_engines[0], (td_parameter){0}, &other);
        factors[at] = 0;
        assert_true(fabs(after / before - 0.5) < 1e-9);
        assert_true(apart == td_model_seconds(&plain, td_engines[0], (td_parameter){0}, &other));
        assert_int_equal(td_factor_of(0.5 * before, before), -TD_OCTAVE);
    }
    assert_int_equal(td_factor_of(1e9, 1.0), TD_MOST_FACTOR);
    assert_int_equal(td_factor_of(1e-9, 1.0), -TD_MOST_FACTOR);
}

/* In between the factors are weighed; m and n count alike. */
TEST(factors_are_interpolated)
{
    static signed char factors[TD_FACTORS];
    td_model plain = model_of(RTX4090), moved = plain;
    moved.factors[0] = factors;
    for (int at = 0; at < TD_FACTORS; at++) factors[at] = (signed char)(at % 7 * 8 - 24);
    for (int64_t size = 3; size < 100000; size = size * 3 / 2 + 1) {
        const td_real_product p = real_product(700, size, 300, 1),
                              turned = real_product(size, 700, 300, 1);
        const double by[] = {
            td_model_seconds(&moved, td_engines[0], (td_parameter){0}, &p) /
                td_model_seconds(&plain, td_engines[0], (td_parameter){0}, &p),
            td_model_seconds(&moved, td_engines[0], (td_parameter){0}, &turned) /
                td_model_seconds(&plain, td_engines[0], (td_parameter){0}, &turned)};
        assert_true(by[0] > 0.5 && by[0] < 2.0 && fabs(by[0] - by[1]) < 1e-9);
    }
}

/* That of a timed routine is for the routine alone, whose product it multiplies; complex ones, and
 * those of rank k whose kind has another name, count by their row. */
TEST(each_routine_has_factors)
{
    static const struct {
        td_timed row;
        td_kind routine;
        bool is_paired;
    } cases[] = {{TD_TIMED_native_dsymm, TD_SYMMETRIC_PRODUCT, false},
                 {TD_TIMED_native_dsyrk, TD_RANK_K, false},
                 {TD_TIMED_native_dsyrk, TD_RANK_KX, false},
                 {TD_TIMED_native_zherk, TD_RANK_KX, true},
                 {TD_TIMED_native_zher2k, TD_RANK_2K, true},
                 {TD_TIMED_native_dtrmm, TD_TRIANGULAR_PRODUCT, false}};
    static signed char factors[TD_FACTORS];
    const td_model plain = model_of(H200);
    memset(factors, TD_OCTAVE, sizeof factors);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double before[TD_MOST_WAYS], after[TD_MOST_WAYS];
        td_model moved = plain;
        td_real_product p = real_product(1024, 1024, 4096, 1);
        int count;
        moved.factors[TD_MOST_WAYS + cases[i].row] = factors;
        p.is_paired = cases[i].is_paired;
        for (int is_routine = 0; is_routine < 2; is_routine++) {
            p.routine = is_routine ? cases[i].routine : TD_PRODUCT;
            td_model_predict(&plain, &p, before);
            td_model_predict(&moved, &p, after);
            assert_true(fabs(after[0] / before[0] - (is_routine ? 2.0 : 1.0)) < 1e-9);
            assert_true(after[0] == td_model_seconds(&moved, td_engines[0], (td_parameter){0}, &p));
            (void)td_ways(&count);
            assert_memory_equal(&after[1], &before[1], (size_t)(count - 1) * sizeof *after);
        }
    }
}

/* One matrix of columns that 8 bytes align, and then A and B: native products of reals take longer
 * on the cards that were measured, and other ways as long as copies do on every card. Complex
 * numbers, other routines and what is in rows of 16 bytes are as before. */
TEST(unaligned_matrices_take_longer)
{
    static const struct {
        const char *card;
        int64_t ld[3];
        double factor;
        int64_t copied; /* elements */
    } cases[] = {{H200, {4096, 4096, 4096}, 1.0, 0},
                 {H200, {4097, 4096, 4096}, 1.15, 3000 * 512},
                 {H100, {4096, 4097, 4096}, 1.15, 512 * 2000},
                 {H200, {4096, 4096, 4097}, 1.15, 3000 * 2000},
                 {H200, {4097, 4096, 4097}, 1.15, 3000 * (512 + 2000)},
                 {H200, {4097, 4097, 4096}, 1.2, 512 * (3000 + 2000)},
                 {H200, {4098, 4098, 4098}, 1.0, 0},
                 {A100, {4097, 4097, 4096}, 1.0, 512 * (3000 + 2000)}};
    td_parameter parameter;
    const td_engine *const ozaki2 = td_engine_parse("ozaki2", &parameter);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const td_model model = model_of(cases[i].card);
        td_real_product plain = real_product(3000, 2000, 512, 1), p = plain;
        p.a.ld = cases[i].ld[0];
        p.b.ld = cases[i].ld[1];
        p.c.ld = cases[i].ld[2];
        const double copies = 16.0 * (double)cases[i].copied / model.rates.bytes,
                     native = td_model_seconds(&model, td_engines[0], (td_parameter){0}, &p),
                     before = td_model_seconds(&model, td_engines[0], (td_parameter){0}, &plain),
                     own = td_model_seconds(&model, ozaki2, parameter, &p),
                     own_before = td_model_seconds(&model, ozaki2, parameter, &plain);
        assert_true(fabs(native / before - cases[i].factor) < 1e-9);
        assert_true(fabs(own - own_before - copies) < 1e-12);
        p.is_paired = plain.is_paired = true;
        assert_true(td_model_seconds(&model, ozaki2, parameter, &p) ==
                    td_model_seconds(&model, ozaki2, parameter, &plain));
        assert_true(td_model_native_unaligned(&model, &p) == 1.0);
        p.is_paired = false;
        p.routine = TD_RANK_K;
        assert_true(td_model_native_unaligned(&model, &p) == 1.0);
    }
}

/* Addresses count as steps between columns do, and steps between members only if there are some;
 * nobody knows those in arrays. */
TEST(addresses_and_steps_align)
{
    static double memory[4] __attribute__((aligned(16)));
    static void *array[1];
    const td_matrix aligned = {.data = memory, .ld = 2, .stride = 2};
    td_matrix x = aligned;
    assert_true(td_matrix_is_aligned(&x, 5));
    x.data = memory + 1;
    assert_false(td_matrix_is_aligned(&x, 1));
    x = aligned;
    x.ld = 3;
    assert_false(td_matrix_is_aligned(&x, 1));
    x = aligned;
    x.stride = 3;
    assert_true(td_matrix_is_aligned(&x, 1));
    assert_false(td_matrix_is_aligned(&x, 2));
    x.array = array;
    assert_true(td_matrix_is_aligned(&x, 2));
    x.ld = 3;
    assert_false(td_matrix_is_aligned(&x, 2));
}

/* So that a name in a file leads to one row. */
TEST(rows_have_names_of_their_own)
{
    for (int i = 0; i < TD_ROWS; i++)
        for (int j = 0; j < i; j++)
            if (td_row_text(i)[0]) assert_string_not_equal(td_row_text(i), td_row_text(j));
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    recorded = argv[1];
    return test_run();
}
