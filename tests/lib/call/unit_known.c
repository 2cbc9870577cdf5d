/* unit_known.c - decisions that are remembered are those that the policy makes, whatever the
 * addresses and scalars of a call are, and a call that comes again is not decided again. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "lib/call/known.h"
#include "tests/lib/support/predicted.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

/* ---- calls ---- */

static const int64_t sizes[] = {0, 1, 16, 100, 256, 500, 1024, 2047, 4096, 9000};
static const td_kind kinds[] = {
    TD_PRODUCT,   TD_RANK_K, TD_SYMMETRIC_PRODUCT, TD_FACTOR_LU,        TD_FACTOR_CHOLESKY,
    TD_FACTOR_QR, TD_FORM_Q, TD_LU_SOLVE,          TD_TRIANGULAR_SOLVE, TD_CHOLESKY_SOLVE,
    TD_EIGEN};
static char memory[1 << 16];

static test_random from;

static size_t random_below(size_t count) { return (size_t)random_int(&from, 0, (int)count - 1); }

#define ONE_OF(list) ((list)[random_below(sizeof(list) / sizeof *(list))])

/* Somewhere; mostly at a multiple of 256 bytes. */
static void *any_address(void)
{
    return memory + 256 * random_below(128) + (random_below(4) ? 0 : 8 * random_below(32));
}

static const double parts[] = {0.0, -0.0, 1.0, -1.0, 0.3, 7e200, NAN};

static td_scalar any_scalar(td_type type)
{
    td_scalar s = {.device = random_below(8) ? NULL : any_address()};
    const double im = type == TD_BINARY64 ? 0.0 : ONE_OF(parts);
    if (!s.device) s.value.complex_binary64 = (td_complex_binary64){ONE_OF(parts), im};
    return s;
}

static double other_part(double x)
{
    return x == 0.0 || fabs(x) == 1.0 ? x : random_uniform(&from) + 2.0;
}

/* One that decides the same. */
static td_scalar other_scalar(td_scalar s)
{
    const td_complex_binary64 x = s.value.complex_binary64;
    if (!s.device)
        s.value.complex_binary64 = (td_complex_binary64){other_part(x.re), other_part(x.im)};
    return s;
}

static td_problem any_call(void)
{
    const int64_t ld = 9000 + (int64_t)random_below(3);
    td_problem p = {.kind = ONE_OF(kinds),
                    .type = random_below(2) ? TD_BINARY64 : TD_COMPLEX_BINARY64,
                    .op_a = (td_op)random_below(3),
                    .m = ONE_OF(sizes),
                    .n = ONE_OF(sizes),
                    .k = ONE_OF(sizes),
                    .a = {.data = any_address(), .ld = ld},
                    .b = {.data = any_address(), .ld = ld},
                    .c = {.data = any_address(), .ld = ld},
                    .batch = random_below(4) ? 1 : 12};
    p.alpha = any_scalar(p.type);
    p.beta = any_scalar(p.type);
    if (!random_below(3)) p.b = p.a;
    p.pivots = p.tau = p.values = any_address();
    p.info = any_address();
    p.caller = any_address();
    return p;
}

/* A call with its matrices in another place, and scaled by other numbers. */
static td_problem moved(const td_problem *p)
{
    td_problem q = *p;
    q.a.data = (char *)q.a.data + 256 * 64;
    q.b.data = (char *)q.b.data + 256 * 64;
    q.c.data = (char *)q.c.data + 256 * 64;
    q.alpha = other_scalar(p->alpha);
    q.beta = other_scalar(p->beta);
    if (p->pivots) q.pivots = q.tau = q.values = (char *)p->pivots + 256;
    q.caller = any_address();
    return q;
}

static td_question asked(const td_problem *p)
{
    td_question q;
    td_ask(p->kind == TD_PRODUCT ? TD_ENTRY_cublasDgemm_v2 : TD_ENTRY_cublasDtrsm_v2, p, &q);
    return q;
}

static bool is_same_time(double x, double y) { return memcmp(&x, &y, sizeof x) == 0; }

static void assert_same(const td_decision *x, const td_decision *y)
{
    assert_ptr_equal(x->engine, y->engine);
    assert_ptr_equal(x->text, y->text);
    assert_ptr_equal(x->reason, y->reason);
    assert_ptr_equal(x->choice, y->choice);
    assert_int_equal(x->parameter.count, y->parameter.count);
    assert_memory_equal(&x->parameter.prices, &y->parameter.prices, sizeof x->parameter.prices);
    assert_int_equal(x->cut.least_terms, y->cut.least_terms);
    assert_true(is_same_time(x->forecast.native, y->forecast.native));
    assert_true(is_same_time(x->forecast.emulated, y->forecast.emulated));
    assert_true(is_same_time(x->forecast.found_out, y->forecast.found_out));
    assert_int_equal(x->heeds_site, y->heeds_site);
    assert_int_equal(x->is_risky, y->is_risky);
}

/* ---- tests ---- */

/* More calls than there are places: some are forgotten, and all are asked three times. */
TEST(what_is_known_is_what_the_policy_says)
{
    static td_model models[2];
    models[0] = model_of(H200);
    models[1] = model_of(RTX4090);
    static td_options options[2];
    from = random_start(test_seed());
    options[0] = options[1] = options_of_auto();
    set_option(&options[1], TD_OPTION_STRATEGY, "adaptive");
    for (int i = 0; i < 4000; i++) {
        const td_problem call = any_call(), other = moved(&call);
        const td_options *o = &options[random_below(2)];
        const td_model *model = &models[random_below(2)];
        td_question first = asked(&call), second = asked(&other);
        const td_decision unasked = td_policy_decide(o, &first, model);
        if (first.branch == TD_BRANCH_OF_TWO && random_below(2))
            first.branch = second.branch = random_below(2) ? TD_BRANCH_OF_ONE : TD_BRANCH_NONE;
        const td_decision expected = td_policy_decide(o, &first, model);
        const td_question *const questions[] = {&first, &first, &second};
        for (int k = 0; k < 3; k++) {
            const td_decision found = td_known_decide(o, questions[k], model);
            assert_same(&found, &expected);
        }
        td_decision found;
        if (td_known_find(o, first.entry, &other, model, &found)) assert_same(&found, &unasked);
    }
}

/* A model that becomes another card's behind the memory's back shows what is remembered. */
TEST(a_call_that_comes_again_is_not_decided_again)
{
    static td_options o;
    static td_model model;
    o = options_of_auto();
    model = model_of(H200);
    const td_problem call = product(2048, 2048, 2048, 1), elsewhere = moved(&call);
    td_problem odd = call, gram = call, captured = call;
    odd.a.data = (char *)odd.a.data + 8;
    gram.b.data = memory;
    const td_question q = asked(&call), again = asked(&elsewhere), other = asked(&odd),
                      apart = asked(&gram);
    td_question without = asked(&captured);
    without.branch = TD_BRANCH_NONE;
    const double on_h200 = td_known_decide(&o, &q, &model).forecast.native;
    model = model_of(RTX4090);
    const double on_rtx = td_policy_decide(&o, &q, &model).forecast.native;
    assert_true(on_rtx > 2.0 * on_h200);
    assert_true(is_same_time(td_known_decide(&o, &q, &model).forecast.native, on_h200));
    assert_true(is_same_time(td_known_decide(&o, &again, &model).forecast.native, on_h200));
    td_decision found;
    assert_true(td_known_find(&o, q.entry, &elsewhere, &model, &found));
    assert_true(is_same_time(found.forecast.native, on_h200));
    assert_false(td_known_find(&o, q.entry + 1, &elsewhere, &model, &found));
    assert_false(td_known_find(&o, q.entry, &odd, &model, &found));
    assert_true(td_known_decide(&o, &other, &model).forecast.native > 2.0 * on_h200);
    assert_true(td_known_decide(&o, &apart, &model).forecast.native > 2.0 * on_h200);
    assert_true(td_known_decide(&o, &without, &model).forecast.native > 2.0 * on_h200);
    assert_true(td_known_find(&o, q.entry, &elsewhere, &model, &found));
    assert_true(is_same_time(found.forecast.native, on_h200));
}

__attribute__((noinline)) static void fill_stack(int filling)
{
    volatile char below[8192];
    for (size_t i = 0; i < sizeof below; i++) below[i] = (char)filling;
}

/* As a wrapper describes its arguments. */
__attribute__((noinline)) static bool is_found_on_stack(const td_options *o, const td_model *model,
                                                        int n)
{
    const double one = 1.0, zero = 0.0;
    td_decision found;
    td_problem p = {.kind = TD_PRODUCT,
                    .type = TD_BINARY64,
                    .m = n,
                    .n = n,
                    .k = n,
                    .a = {.data = memory, .ld = n},
                    .b = {.data = memory, .ld = n},
                    .c = {.data = memory + 4096, .ld = n},
                    .batch = 1};
    memcpy(&p.alpha.value, &one, sizeof one);
    memcpy(&p.beta.value, &zero, sizeof zero);
    if (td_known_find(o, TD_ENTRY_cublasDgemm_v2, &p, model, &found)) return true;
    const td_question q = asked(&p);
    (void)td_known_decide(o, &q, model);
    return false;
}

/* The stack of a program holds something else at each call. */
TEST(what_lay_on_the_stack_does_not_count)
{
    static td_options o;
    static td_model model;
    o = options_of_auto();
    model = model_of(H200);
    for (int filling = 0; filling < 256; filling++) {
        fill_stack(filling);
        assert_int_equal(is_found_on_stack(&o, &model, 777), filling > 0);
    }
}

static td_options of_threads;

static void *decide_many(void *of)
{
    const td_model *model = of;
    for (int i = 0; i < 2000; i++) {
        const td_problem call = product(64 * (1 + i % 40), 64, 4096, 1);
        const td_question q = asked(&call);
        const td_decision found = td_known_decide(&of_threads, &q, model),
                          expected = td_policy_decide(&of_threads, &q, model);
        assert_same(&found, &expected);
    }
    return NULL;
}

TEST(threads_share_what_is_known)
{
    pthread_t threads[4];
    static td_model model;
    model = model_of(H100);
    of_threads = options_of_auto();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decide_many, &model), 0);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}
