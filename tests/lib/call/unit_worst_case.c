/* unit_worst_case.c - the rule of mode auto over every card, form, type and shape: what is emulated
 * is what the rule says, and no decision on a measured card may take more than 1.10 of native's
 * time, whatever the data are. Predictions alone; bench/never_slower.py measures the times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/lib/support/asked.h"
#include "tests/lib/support/predicted.h"

/* ---- calls: a shape in a form ---- */

typedef struct {
    int64_t m, n, k, batch;
} shape;

/* A form of call makes its own of a plain product; false if the shape has no such call. */
typedef struct {
    const char *name;
    bool (*make)(td_problem *p);
    td_branch_form branch; /* of two but where the stream is captured */
} form;

static bool enqueue_nothing(const void *call, cudaStream_t stream)
{
    (void)call;
    (void)stream;
    return true;
}

static bool has_one_member(const td_problem *p) { return p->batch == 1; }

static bool make_plain(td_problem *p)
{
    p->a.stride = p->b.stride = p->c.stride = INT64_C(1) << 40;
    return true;
}

static bool make_transposed(td_problem *p)
{
    p->op_a = TD_OP_T;
    p->op_b = TD_OP_C;
    return make_plain(p);
}

/* Columns that begin at multiples of 8 bytes, not of 16. */
static bool make_unaligned(td_problem *p)
{
    p->a.ld = p->b.ld = p->c.ld = (1 << 20) + 1;
    return make_plain(p);
}

/* Arrays of pointers: a batched call, and each group of a grouped one. */
static bool make_array(td_problem *p)
{
    static void *pointers[1];
    p->a.array = p->b.array = p->c.array = pointers;
    p->a.data = p->b.data = p->c.data = NULL;
    return true;
}

static bool make_cublaslt(td_problem *p)
{
    static double other[2];
    p->enqueue = enqueue_nothing;
    p->beta.value.binary64 = 2.0;
    p->addend = (td_matrix){.data = other, .ld = p->c.ld};
    return has_one_member(p);
}

static bool make_rows(td_problem *p)
{
    p->enqueue = enqueue_nothing;
    p->c_in_rows = true;
    return has_one_member(p);
}

static bool make_device_scalars(td_problem *p)
{
    static const double scalars[4];
    p->alpha.device = p->beta.device = scalars;
    return make_plain(p);
}

/* A handle of cuBLAS takes both scalars from one place: such a call cannot stand behind a
 * condition. */
static bool make_mixed_scalars(td_problem *p)
{
    static const double scalars[2];
    p->alpha.device = scalars;
    return make_plain(p);
}

static bool make_long_lines(td_problem *p)
{
    p->a.ld = INT64_C(1) << 32;
    return make_plain(p);
}

static bool make_symmetric(td_problem *p)
{
    p->kind = TD_SYMMETRIC_PRODUCT;
    p->is_hermitian = p->type == TD_COMPLEX_BINARY64;
    p->k = 0;
    return has_one_member(p);
}

static bool make_triangular(td_problem *p)
{
    p->kind = TD_TRIANGULAR_PRODUCT;
    p->k = 0;
    return has_one_member(p);
}

static bool make_solve(td_problem *p)
{
    p->kind = TD_TRIANGULAR_SOLVE;
    p->k = 0;
    return has_one_member(p);
}

static bool make_solve_from_the_right(td_problem *p)
{
    p->side = TD_RIGHT;
    return make_solve(p);
}

static bool make_update(td_problem *p, td_kind kind, bool is_hermitian)
{
    p->kind = kind;
    p->is_hermitian = is_hermitian && p->type == TD_COMPLEX_BINARY64;
    p->m = 0;
    return has_one_member(p);
}

static bool make_rank_k(td_problem *p) { return make_update(p, TD_RANK_K, false); }
static bool make_rank_kx(td_problem *p) { return make_update(p, TD_RANK_KX, false); }
static bool make_rank_2k(td_problem *p) { return make_update(p, TD_RANK_2K, false); }
static bool make_hermitian_rank_k(td_problem *p) { return make_update(p, TD_RANK_K, true); }
static bool make_hermitian_rank_2k(td_problem *p) { return make_update(p, TD_RANK_2K, true); }

static const form forms[] = {
    {"single or strided", make_plain, TD_BRANCH_OF_TWO},
    {"transposed", make_transposed, TD_BRANCH_OF_TWO},
    {"unaligned", make_unaligned, TD_BRANCH_OF_TWO},
    {"array or group", make_array, TD_BRANCH_OF_TWO},
    {"captured", make_plain, TD_BRANCH_NONE},
    {"captured with a branch", make_plain, TD_BRANCH_OF_ONE},
    {"cublasLt with D apart from C", make_cublaslt, TD_BRANCH_OF_TWO},
    {"cublasLt with C in rows", make_rows, TD_BRANCH_OF_TWO},
    {"device scalars", make_device_scalars, TD_BRANCH_OF_TWO},
    {"alpha alone in device memory", make_mixed_scalars, TD_BRANCH_OF_TWO},
    {"lines beyond 31 bits", make_long_lines, TD_BRANCH_OF_TWO},
    {"symm or hemm", make_symmetric, TD_BRANCH_OF_TWO},
    {"trmm", make_triangular, TD_BRANCH_OF_TWO},
    {"trsm", make_solve, TD_BRANCH_OF_TWO},
    {"trsm from the right", make_solve_from_the_right, TD_BRANCH_OF_TWO},
    {"captured trsm", make_solve, TD_BRANCH_NONE},
    {"syrk", make_rank_k, TD_BRANCH_OF_TWO},
    {"syrkx", make_rank_kx, TD_BRANCH_OF_TWO},
    {"syr2k", make_rank_2k, TD_BRANCH_OF_TWO},
    {"herk", make_hermitian_rank_k, TD_BRANCH_OF_TWO},
    {"her2k", make_hermitian_rank_2k, TD_BRANCH_OF_TWO},
    {"captured syrk", make_rank_k, TD_BRANCH_NONE},
    {"captured syrk with a branch", make_rank_k, TD_BRANCH_OF_ONE},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* As the dispatcher does, of a stream that is captured if the branch is not one of two. */
static td_decision decide_in(td_branch_form branch, const td_options *o, const td_problem *p,
                             const td_model *model)
{
    td_question q;
    td_ask(TD_ENTRY_cublasDgemm_v2, p, &q);
    if (q.branch == TD_BRANCH_OF_TWO) q.branch = branch;
    return td_policy_decide(o, &q, model);
}

static bool make_call(const form *f, td_type type, const shape *s, td_problem *p)
{
    *p = product(s->m, s->n, s->k, s->batch);
    p->type = type;
    if (type == TD_COMPLEX_BINARY64) p->alpha.value.complex_binary64.re = 1.0;
    return f->make(p);
}

/* ---- shapes ---- */

/* Calls visit for all shapes: cubes, products with one size apart, and batches. */
static void walk_shapes(void (*visit)(const shape *s, void *of), void *of)
{
    static const int64_t sizes[] = {1,    2,    4,    7,    8,     16,    31,   32,
                                    64,   100,  128,  129,  256,   300,   512,  777,
                                    1000, 1024, 1500, 2048, 2500,  3000,  4096, 4097,
                                    5000, 6144, 8191, 8192, 10000, 12288, 16384};
    static const int64_t batches[] = {1, 3, 16, 100, 1000};
    enum { SIZES = sizeof sizes / sizeof *sizes, BATCHES = sizeof batches / sizeof *batches };
    for (int i = 0; i < SIZES; i++)
        for (int j = 0; j < SIZES; j++) {
            const int64_t x = sizes[i], y = sizes[j];
            const shape apart[] = {{x, x, y, 1}, {x, y, x, 1}, {y, x, x, 1}};
            for (int a = 0; a < (i == j ? 1 : 3); a++) visit(&apart[a], of);
        }
    for (int i = 0; i < SIZES; i++)
        for (int b = 1; b < BATCHES; b++)
            visit(&(shape){sizes[i], sizes[i], sizes[i], batches[b]}, of);
}

/* ---- the rule ---- */

enum { MOST_COMPLAINTS = 5 };
static const double most_of_any = 1.10, most_by_rule = 1.05;

/* Everything that is asked of one card. */
typedef struct {
    td_options o;
    td_model model;
    bool is_measured, has_much_binary64;
    const form *f;
    td_type type;
    long calls, emulated, exempt, bad;
    double worst; /* of native's time, of all that is emulated */
} walk;

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

/* Which cards were measured, and which are fast at binary64, is written down here once more. */
static walk walk_of(const td_card *card)
{
    static const char *const measured[] = {H200, H100, NULL}, *const with_much_binary64[] = {
                                                                  H200, H100, A100, "NVIDIA B200",
                                                                  NULL};
    walk w = {.o = options_of_auto(),
              .is_measured = is_among(card->name, measured),
              .has_much_binary64 = is_among(card->name, with_much_binary64)};
    td_model_make(&w.model, card);
    return w;
}

static bool is_dear(const td_forecast *f) { return f->found_out > most_by_rule * f->native; }

/* Lines that no probe met would cost more than others gain. */
static bool is_dear_late(const td_forecast *f)
{
    return f->found_late > 0.0 && f->emulated + f->found_late > 2.0 * f->native;
}

/* What the rule says of three times. */
static const char *reason_by_rule(const walk *w, const td_forecast *f)
{
    const bool is_close = w->is_measured && strcmp(f->mode, "dgemm") != 0;
    const double least_gain = is_close ? 0.125 : 0.2;
    if (f->emulated > (1.0 - least_gain) * f->native) return td_reason_slower;
    const bool is_exempt = !w->has_much_binary64 && 2.0 * f->emulated <= f->native;
    return (is_dear(f) || is_dear_late(f)) && !is_exempt ? td_reason_worst : NULL;
}

/* The most that a call takes, over native's time, whatever its data are. */
static double worst_of(const td_decision *d)
{
    const td_forecast *f = &d->forecast;
    if (!d->engine) return 1.0;
    return fmax(f->emulated, d->engine->takes_prices ? f->found_out : 0.0) / f->native;
}

static void complain_of(walk *w, const shape *s, const td_decision *d, const char *what)
{
    if (w->bad++ >= MOST_COMPLAINTS) return;
    print_error("%s, %s of type %d, %ld x %ld x %ld, batch %ld: %s: %s, %s (%s %.4g s, native %.4g "
                "s, found out %.4g s)\n",
                w->model.card.name, w->f->name, (int)w->type, (long)s->m, (long)s->n, (long)s->k,
                (long)s->batch, what, d->text, d->reason ? d->reason : d->choice, d->forecast.mode,
                d->forecast.emulated, d->forecast.native, d->forecast.found_out);
}

static void decide(const shape *s, void *of)
{
    walk *w = of;
    td_problem p;
    if (!make_call(w->f, w->type, s, &p)) return;
    const td_decision d = decide_in(w->f->branch, &w->o, &p, &w->model);
    const td_forecast *f = &d.forecast;
    w->calls++;
    w->emulated += d.engine != NULL;
    w->exempt += d.engine && is_dear(f);
    w->worst = fmax(w->worst, worst_of(&d));
    if (!f->mode || !(f->native > 0.0 && f->emulated > 0.0)) {
        complain_of(w, s, &d, "no times decided");
        return;
    }
    if (d.reason != reason_by_rule(w, f)) complain_of(w, s, &d, "not what the rule says");
    if (d.engine && d.engine->takes_prices && !(f->found_out > 0.0))
        complain_of(w, s, &d, "nobody knows what bad data cost");
    if (w->is_measured && !(worst_of(&d) <= most_of_any)) complain_of(w, s, &d, "too slow");
}

static void walk_card(walk *w)
{
    static const td_type types[] = {TD_BINARY64, TD_COMPLEX_BINARY64};
    for (int f = 0; f < FORMS; f++)
        for (int t = 0; t < 2; t++) {
            w->f = &forms[f];
            w->type = types[t];
            walk_shapes(decide, w);
        }
    print_message("%s: %ld calls, %ld emulated, worst %.3f of native; %ld at half of native or "
                  "less, whose bad data take more than %.2f\n",
                  w->model.card.name, w->calls, w->emulated, w->worst, w->exempt, most_by_rule);
}

/* Every card; those that were measured keep the worst case, and so do those that are fast at
 * binary64. */
TEST(no_decision_may_be_slow)
{
    for (const td_card *card = td_cards; card->name[0]; card++) {
        if (test_is_brief() && (card - td_cards) % 3) continue;
        walk w = walk_of(card);
        assert_int_equal(td_model_is_measured(&w.model), w.is_measured);
        walk_card(&w);
        assert_int_equal(w.bad, 0);
        assert_true(w.emulated > w.calls / 10 && w.emulated < w.calls * 3 / 4);
        assert_true(w.has_much_binary64 ? w.exempt == 0 : w.exempt > 0);
        if (w.has_much_binary64) assert_true(w.worst > 1.0 && w.worst <= most_by_rule);
    }
}

/* Bad data cost native's time and the probe, 37 to 49 us (docs/auto.md) for up to 4096 terms. Where
 * the mode's kernels come after the condition, they take 45 us more; where cuBLAS cannot stand
 * behind one, the sums are in binary64 besides, which takes a tenth more at most. */
TEST(bad_data_cost_the_probe)
{
    const td_model model = model_of(H100);
    const td_options o = options_of_auto();
    for (int64_t k = 512; k <= 4096; k *= 2) {
        const td_problem p = product(4096, 4096, k, 1);
        const td_real_product real = real_product(4096, 4096, k, 1);
        const td_forecast free = decide_in(TD_BRANCH_OF_TWO, &o, &p, &model).forecast,
                          in_graph = decide_in(TD_BRANCH_OF_ONE, &o, &p, &model).forecast,
                          captured = decide_in(TD_BRANCH_NONE, &o, &p, &model).forecast;
        const double probe = free.found_out - free.native;
        assert_string_equal(free.mode, "ozaki2");
        assert_true(free.native ==
                    td_model_seconds(&model, td_engines[0], (td_parameter){0}, &real));
        assert_true(probe >= 36.5e-6 && probe <= 49.5e-6);
        assert_true(captured.native == free.native && captured.emulated == free.emulated);
        const double idle = in_graph.found_out - free.found_out;
        assert_true(idle >= 44.5e-6 && idle <= 47e-6);
        const double sums = captured.found_out - probe - 45e-6;
        assert_true(sums > 1.02 * free.native && sums < 1.1 * free.native);
    }
}

/* The kernels of a single product of 5 ms or more end at once; those of a batch do not begin, and
 * its probe takes 6 us longer. */
TEST(kernels_of_long_products_end_at_once)
{
    const td_model model = model_of(H100);
    const td_options o = options_of_auto();
    const td_problem single = product(8192, 8192, 8192, 1);
    td_problem batch = product(2048, 2048, 8192, 16);
    assert_true(make_plain(&batch));
    const td_forecast of_single = decide_in(TD_BRANCH_OF_TWO, &o, &single, &model).forecast,
                      of_batch = decide_in(TD_BRANCH_OF_TWO, &o, &batch, &model).forecast;
    assert_true(of_single.native > 5e-3 && of_batch.native > 5e-3);
    const double of_terms = of_single.found_out - of_single.native,
                 without = of_batch.found_out - of_batch.native;
    assert_true(of_terms > without + 38e-6 && of_terms < without + 42e-6);
}

/* Three complex products of 1200 cubed took 1.07 of native's time with bad data. */
TEST(batches_need_more_time_to_pay_a_probe)
{
    const td_model model = model_of(H200);
    const td_options o = options_of_auto();
    const shape s = {1200, 1184, 1200, 3};
    const form plain = {"strided", make_plain, false};
    for (int beta = 0; beta < 2; beta++) {
        td_problem p;
        assert_true(make_call(&plain, TD_COMPLEX_BINARY64, &s, &p));
        p.beta.value.complex_binary64.re = beta;
        const td_forecast f = decide_in(TD_BRANCH_OF_TWO, &o, &p, &model).forecast;
        assert_true(f.found_out > 1.06 * f.native && f.found_out < 1.075 * f.native);
    }
}

/* What products took more than natively whose lines that no probe met were bad: 174 us at 4096
 * cubed, of complex numbers 185 at 2048 cubed and 321 at 448 x 4048 x 6336
 * (docs/results/h200-2026-11-30-outliers). Members of a batch are found out one by one. */
static const struct {
    td_type type;
    shape s;
    double more;
} found_late[] = {
    {TD_BINARY64, {4096, 4096, 4096, 1}, 174e-6},
    {TD_COMPLEX_BINARY64, {2048, 2048, 2048, 1}, 185e-6},
    {TD_COMPLEX_BINARY64, {448, 4048, 6336, 1}, 321e-6},
    {TD_COMPLEX_BINARY64, {1024, 1024, 1024, 16}, 0.0},
};
enum { FOUND_LATE = sizeof found_late / sizeof *found_late };

static td_decision decide_plain(td_type type, const shape *s)
{
    const td_model model = model_of(H200);
    const td_options o = options_of_auto();
    const form plain = {"plain", make_plain, false};
    td_problem p;
    assert_true(make_call(&plain, type, s, &p));
    return decide_in(TD_BRANCH_OF_TWO, &o, &p, &model);
}

TEST(bad_data_that_are_found_late_cost_the_measuring)
{
    for (int i = 0; i < FOUND_LATE; i++) {
        const td_decision d = decide_plain(found_late[i].type, &found_late[i].s);
        const double more = fmax(0.0, d.forecast.found_late - d.forecast.native);
        assert_true(fabs(more - found_late[i].more) <= 0.15 * found_late[i].more);
        assert_non_null(d.engine);
    }
}

/* A thin complex product would gain less than it may lose. */
TEST(no_call_risks_more_than_it_gains)
{
    const td_decision d = decide_plain(TD_COMPLEX_BINARY64, &(shape){372, 13440, 1416, 1});
    assert_null(d.engine);
    assert_ptr_equal(d.reason, td_reason_worst);
    assert_true(d.forecast.found_out < most_by_rule * d.forecast.native);
}
