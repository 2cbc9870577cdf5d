/* Problems of every kind: what is valid, what is empty, what is written; and what the policy makes
 * of them. */
#include <string.h>

#include "tests/support/test.h"
#include "lib/engines/engine.h"
#include "lib/engines/batched_lu/limits.h"
#include "lib/engines/solve/solve.h"
#include "lib/routine/lower.h"
#include "tests/lib/support/asked.h"

static double memory[1];

static const td_matrix there = {.data = memory, .ld = 8};

/* A valid problem of a kind, 8 rows at most everywhere. */
static td_problem valid(td_kind kind)
{
    td_problem p = {.kind = kind,
                    .m = 5,
                    .n = 8,
                    .k = 3,
                    .alpha.value.binary64 = 1.0,
                    .a = there,
                    .b = there,
                    .c = there,
                    .batch = 2};
    return p;
}

TEST(every_kind_can_be_valid)
{
    for (int kind = 0; kind < TD_KIND_COUNT; kind++) {
        const td_problem p = valid((td_kind)kind);
        assert_true(td_problem_is_valid(&p));
        assert_false(td_problem_is_empty(&p));
    }
    const td_problem none = valid(TD_KIND_COUNT);
    assert_false(td_problem_is_valid(&none));
}

/* The fields that each kind looks at. */
typedef struct {
    td_kind kind;
    const char *matrices; /* of a, b and c */
    char written;
    const char *empty; /* of m, n, k and z, the batch: those without which nothing is written */
} looks;

static const looks table[] = {
    {TD_PRODUCT, "abc", 'c', "mnz"},
    {TD_SYMMETRIC_PRODUCT, "abc", 'c', "mnz"},
    {TD_RANK_K, "ac", 'c', "nz"},
    {TD_RANK_KX, "abc", 'c', "nz"},
    {TD_RANK_2K, "abc", 'c', "nz"},
    {TD_TRIANGULAR_SOLVE, "ab", 'b', "mnz"},
    {TD_TRIANGULAR_PRODUCT, "abc", 'c', "mnz"},
    {TD_LU_FACTOR, "a", 'a', "nz"},
    {TD_LU_SOLVE, "ab", 'b', "nkz"},
    {TD_LU_INVERT, "ac", 'c', "nz"},
    {TD_INVERT, "ac", 'c', "nz"},
    {TD_FACTOR_LU, "a", 'a', "mnz"},
    {TD_FACTOR_CHOLESKY, "a", 'a', "nz"},
    {TD_FACTOR_QR, "a", 'a', "mnz"},
    {TD_FORM_Q, "a", 'a', "mnz"},
    {TD_APPLY_Q, "ac", 'c', "mnz"},
    {TD_CHOLESKY_SOLVE, "ab", 'b', "nkz"},
    {TD_CHOLESKY_INVERT, "a", 'a', "nz"},
    {TD_EIGEN, "a", 'a', "nz"},
};

static td_matrix *matrix_of(td_problem *p, char name)
{
    return name == 'a' ? &p->a : name == 'b' ? &p->b : &p->c;
}

static int64_t *size_of(td_problem *p, char name)
{
    return name == 'm' ? &p->m : name == 'n' ? &p->n : name == 'k' ? &p->k : &p->batch;
}

static td_product lowered(const td_problem *p)
{
    td_product product;
    assert_true(td_lower(p, &product));
    return product;
}

TEST(addends_count_where_beta_may)
{
    const td_problem p = valid(TD_PRODUCT);
    td_product product = lowered(&p);
    product.beta.value.binary64 = 2.0;
    assert_false(td_product_has_addend(&product));
    product.addend = there;
    assert_true(td_product_has_addend(&product));
    product.beta.value.binary64 = 0.0;
    assert_false(td_product_has_addend(&product));
    product.beta.device = memory;
    assert_true(td_product_has_addend(&product));
}

/* A C of 3 x 7 in rows has leading dimensions of 7 and more, and is 7 x 3 in memory. */
TEST(rows_are_columns_of_the_transpose)
{
    td_problem p = valid(TD_PRODUCT);
    p.m = 3;
    p.n = 7;
    p.k = 1;
    p.c.ld = 3;
    assert_true(td_problem_is_valid(&p));
    p.c_in_rows = true;
    assert_false(td_problem_is_valid(&p));
    p.c.ld = 7;
    assert_true(td_problem_is_valid(&p));
    p.beta.value.binary64 = 2.0;
    p.addend = (td_matrix){.data = memory, .ld = 9};
    td_product product = lowered(&p);
    const td_memory columns = td_product_memory(&product);
    assert_int_equal(columns.written.rows, 7);
    assert_int_equal(columns.written.columns, 3);
    assert_int_equal(columns.added.rows, 3);
    assert_int_equal(columns.added.columns, 7);
    product.addend_in_rows = true;
    assert_int_equal(td_product_memory(&product).added.rows, 7);
    product.beta.value.binary64 = 0.0;
    assert_int_equal(td_product_memory(&product).added.rows, 0);
}

TEST(matrices_that_a_kind_names_must_be_there)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (const char *name = "abc"; *name; name++) {
            const bool is_named = strchr(table[i].matrices, *name) != NULL;
            td_problem p = valid(table[i].kind);
            matrix_of(&p, *name)->data = NULL;
            assert_int_equal(td_problem_is_valid(&p), !is_named);
            matrix_of(&p, *name)->array = (void *const *)memory;
            assert_true(td_problem_is_valid(&p));
            matrix_of(&p, *name)->ld = 0;
            assert_int_equal(td_problem_is_valid(&p), !is_named);
        }
}

TEST(sizes)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (const char *name = "mnkz"; *name; name++) {
            td_problem p = valid(table[i].kind);
            *size_of(&p, *name) = -1;
            assert_false(td_problem_is_valid(&p));
            *size_of(&p, *name) = 0;
            assert_true(td_problem_is_valid(&p));
            assert_int_equal(td_problem_is_empty(&p), strchr(table[i].empty, *name) != NULL);
        }
}

static const int64_t most = INT64_C(1) << 56;

static void expect_uncountable(td_problem p)
{
    td_question q;
    assert_false(td_problem_is_countable(&p));
    td_ask(TD_ENTRY_cublasDgemm_v2, &p, &q);
    assert_false(q.is_lowered);
    assert_null(q.method);
}

/* A size alone, and with another one that it makes a matrix with. */
TEST(sizes_that_no_memory_has_are_not_counted)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (const char *name = "mnkz"; *name; name++) {
            td_problem p = valid(table[i].kind);
            assert_true(td_problem_is_countable(&p));
            *size_of(&p, *name) = 2 * most;
            expect_uncountable(p);
            *size_of(&p, *name) = INT64_MIN;
            expect_uncountable(p);
            if (!strchr(table[i].empty, *name)) continue;
            *size_of(&p, *name) = INT64_C(1) << 55;
            expect_uncountable(p);
        }
}

TEST(steps_that_no_memory_has_are_not_counted)
{
    for (const char *name = "abc"; *name; name++) {
        td_problem p = valid(TD_PRODUCT);
        matrix_of(&p, *name)->ld = matrix_of(&p, *name)->stride = most;
        assert_true(td_problem_is_countable(&p));
        matrix_of(&p, *name)->ld = INT64_MAX;
        expect_uncountable(p);
        matrix_of(&p, *name)->ld = 8;
        matrix_of(&p, *name)->stride = INT64_MIN;
        expect_uncountable(p);
    }
}

/* Long lines alone are no large matrices. */
TEST(thin_matrices_are_counted)
{
    td_problem p = valid(TD_PRODUCT);
    p.batch = 1;
    p.m = INT64_C(1) << 50;
    p.n = 2;
    p.k = 3;
    assert_true(td_problem_is_countable(&p));
    p.kind = TD_APPLY_Q;
    assert_true(td_problem_is_countable(&p));
    p.kind = TD_TRIANGULAR_SOLVE;
    assert_false(td_problem_is_countable(&p));
    p.side = TD_RIGHT;
    assert_true(td_problem_is_countable(&p));
}

/* cuBLAS asks for no pointer then, but for leading dimensions. */
TEST(what_computes_nothing_needs_no_matrices)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (const char *name = table[i].empty; *name; name++) {
            td_problem p = valid(table[i].kind);
            *size_of(&p, *name) = 0;
            p.a.data = p.b.data = p.c.data = NULL;
            assert_true(td_problem_is_valid(&p));
            p.a.ld = 0;
            assert_false(td_problem_is_valid(&p));
        }
}

TEST(the_result_is_what_the_kind_writes)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        td_problem p = valid(table[i].kind);
        assert_ptr_equal(td_problem_result(&p), matrix_of(&p, table[i].written));
    }
}

/* The rows that are stored, for a leading dimension one too small. */
TEST(leading_dimensions_cover_stored_rows)
{
    static const struct {
        td_kind kind;
        td_op op_a, op_b;
        td_side side;
        int rows[3]; /* of a, b, c; 0: not looked at */
    } cases[] = {
        {TD_PRODUCT, TD_OP_N, TD_OP_N, TD_LEFT, {5, 3, 5}},
        {TD_PRODUCT, TD_OP_T, TD_OP_C, TD_LEFT, {3, 8, 5}},
        {TD_RANK_K, TD_OP_N, TD_OP_N, TD_LEFT, {8, 0, 8}},
        {TD_RANK_2K, TD_OP_T, TD_OP_N, TD_LEFT, {3, 3, 8}},
        {TD_TRIANGULAR_SOLVE, TD_OP_N, TD_OP_N, TD_LEFT, {5, 5, 0}},
        {TD_TRIANGULAR_SOLVE, TD_OP_N, TD_OP_N, TD_RIGHT, {8, 5, 0}},
        {TD_TRIANGULAR_PRODUCT, TD_OP_N, TD_OP_N, TD_RIGHT, {8, 5, 5}},
        {TD_LU_FACTOR, TD_OP_N, TD_OP_N, TD_LEFT, {8, 0, 0}},
        {TD_LU_SOLVE, TD_OP_T, TD_OP_N, TD_LEFT, {8, 8, 0}},
        {TD_LU_INVERT, TD_OP_N, TD_OP_N, TD_LEFT, {8, 0, 8}},
        {TD_INVERT, TD_OP_N, TD_OP_N, TD_LEFT, {8, 0, 8}},
        {TD_FACTOR_LU, TD_OP_N, TD_OP_N, TD_LEFT, {5, 0, 0}},
        {TD_FACTOR_CHOLESKY, TD_OP_N, TD_OP_N, TD_LEFT, {8, 0, 0}},
        {TD_FACTOR_QR, TD_OP_N, TD_OP_N, TD_LEFT, {5, 0, 0}},
        {TD_FORM_Q, TD_OP_N, TD_OP_N, TD_LEFT, {5, 0, 0}},
        {TD_APPLY_Q, TD_OP_T, TD_OP_N, TD_LEFT, {5, 0, 5}},
        {TD_APPLY_Q, TD_OP_N, TD_OP_N, TD_RIGHT, {8, 0, 5}},
        {TD_CHOLESKY_SOLVE, TD_OP_N, TD_OP_N, TD_LEFT, {8, 8, 0}},
        {TD_CHOLESKY_INVERT, TD_OP_N, TD_OP_N, TD_LEFT, {8, 0, 0}},
        {TD_EIGEN, TD_OP_N, TD_OP_N, TD_LEFT, {8, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int x = 0; x < 3; x++) {
            td_problem p = valid(cases[i].kind);
            p.op_a = cases[i].op_a;
            p.op_b = cases[i].op_b;
            p.side = cases[i].side;
            matrix_of(&p, "abc"[x])->ld = cases[i].rows[x];
            assert_true(td_problem_is_valid(&p));
            matrix_of(&p, "abc"[x])->ld--;
            assert_int_equal(td_problem_is_valid(&p), cases[i].rows[x] == 0);
        }
}

TEST(operations_are_checked)
{
    td_problem p = valid(TD_PRODUCT);
    p.op_b = (td_op)3;
    assert_false(td_problem_is_valid(&p));
    p = valid(TD_RANK_K);
    p.op_a = (td_op)-1;
    assert_false(td_problem_is_valid(&p));
    p = valid(TD_TRIANGULAR_PRODUCT);
    p.diagonal = (td_diagonal)2;
    assert_false(td_problem_is_valid(&p));
    p = valid(TD_SYMMETRIC_PRODUCT);
    p.side = (td_side)-1;
    assert_false(td_problem_is_valid(&p));
}

TEST(zero_is_known_in_every_type)
{
    static const td_value ones[TD_TYPE_COUNT] = {
        [TD_BINARY64] = {.binary64 = 1.0},
        [TD_DF] = {.df = {1.0f, 0.0f}},
        [TD_TS] = {.ts = {1.0f, 0.0f, 0.0f}},
        [TD_DD] = {.dd = {1.0, 0.0}},
        [TD_DS] = {.ds = {1.0, 0.0f}},
        [TD_BINARY32] = {.binary32 = 1.0f},
        [TD_COMPLEX_BINARY32] = {.complex_binary32 = {0.0f, 1.0f}},
        [TD_COMPLEX_BINARY64] = {.complex_binary64 = {0.0, 1.0}},
    };
    for (int type = 0; type < TD_TYPE_COUNT; type++) {
        td_problem p = valid(TD_PRODUCT);
        p.type = (td_type)type;
        p.alpha.value = ones[type];
        assert_false(td_problem_only_scales(&p));
        p.alpha = (td_scalar){.device = memory};
        assert_false(td_problem_only_scales(&p));
        p.alpha.device = NULL;
        assert_true(td_problem_only_scales(&p));
        assert_non_null(td_types[type].name);
        assert_int_equal(td_types[type].size % td_types[type].alignment, 0);
        assert_in_range(td_types[type].size, 4, sizeof(td_value));
    }
    td_problem p = valid(TD_PRODUCT);
    p.k = 0;
    assert_true(td_problem_only_scales(&p));
}

static td_run_status run(const td_real_product *p, td_parameter parameter, td_device *device,
                         size_t workspace_limit, td_counters *counters)
{
    (void)p, (void)parameter, (void)device, (void)workspace_limit, (void)counters;
    return TD_RUN_DONE;
}

TEST(a_decision_says_what_runs_and_why_not)
{
    td_problem p = valid(TD_PRODUCT);
    td_options o;
    td_options_set_defaults(&o);
    td_decision d = decide_call(&o, &p, NULL);
    assert_null(d.engine);
    assert_string_equal(d.text, "native");
    assert_ptr_equal(d.reason, td_reason_mode);

    assert_true(td_options_set(&o, TD_OPTION_MODE, "mode", "slices:12", TD_ORIGIN_CALL));
    td_engine runs = *o.mode.engine;
    runs.run = run;
    o.mode.engine = &runs;
    d = decide_call(&o, &p, NULL);
    assert_ptr_equal(d.engine, &runs);
    assert_true(d.parameter.is_given && d.parameter.count == 12);
    assert_string_equal(d.text, "slices:12");
    assert_null(d.reason);
    assert_true(!d.choice && !d.forecast.mode);

    p.a.ld = 1;
    assert_ptr_equal(decide_call(&o, &p, NULL).reason, td_reason_invalid);
    p = valid(TD_PRODUCT);
    p.batch = 0;
    assert_ptr_equal(decide_call(&o, &p, NULL).reason, td_reason_empty);
    p = valid(TD_PRODUCT);
    p.is_pedantic = true;
    assert_ptr_equal(decide_call(&o, &p, NULL).reason, td_reason_pedantic);
    for (td_kind kind = TD_SYMMETRIC_PRODUCT; kind <= TD_TRIANGULAR_PRODUCT; kind++) {
        if (kind == TD_TRIANGULAR_SOLVE) continue;
        p = valid(kind);
        assert_ptr_equal(decide_call(&o, &p, NULL).engine, &runs);
    }
    p = valid(TD_PRODUCT);
    p.type = TD_COMPLEX_BINARY32;
    assert_ptr_equal(decide_call(&o, &p, NULL).reason, td_reason_routine);
    p.type = TD_COMPLEX_BINARY64;
    p.alpha.value.complex_binary64 = (td_complex_binary64){0.0, 1.0};
    assert_ptr_equal(decide_call(&o, &p, NULL).engine, &runs);
    p.alpha.value.complex_binary64.im = 0.0;
    assert_ptr_equal(decide_call(&o, &p, NULL).reason, td_reason_scales);
}

/* A batch of 10000 of a kind that the `lu` kernels know, of binary64. */
static td_problem stack_of(td_kind kind, int64_t order)
{
    static void *array[1];
    static int info[1];
    const td_matrix matrix = {.array = array, .ld = order};
    return (td_problem){.kind = kind,
                        .type = TD_BINARY64,
                        .m = order,
                        .n = order,
                        .k = order,
                        .a = matrix,
                        .b = matrix,
                        .c = matrix,
                        .info = info,
                        .batch = 10000};
}

static td_decision decision_for(const td_problem *p)
{
    td_options o;
    td_options_set_defaults(&o);
    assert_true(td_options_set(&o, TD_OPTION_MODE, "mode", "slices:12", TD_ORIGIN_CALL));
    td_engine runs = *o.mode.engine;
    runs.run = run;
    o.mode.engine = &runs;
    return decide_call(&o, p, NULL);
}

/* Of batches of factorisations. */
static const char *reason_for(const td_problem *p)
{
    const td_decision d = decision_for(p);
    assert_true(d.reason ? d.engine == NULL : d.engine == &td_engine_batched_lu);
    return d.reason;
}

TEST(batches_of_factorisations_have_kernels_of_their_own)
{
    td_problem p = stack_of(TD_LU_FACTOR, 64);
    assert_null(reason_for(&p));
    p.is_pedantic = true; /* they are in the matrices' own arithmetic */
    assert_null(reason_for(&p));
    p.info = NULL;
    assert_ptr_equal(reason_for(&p), td_reason_plain);
    p = stack_of(TD_LU_FACTOR, 512);
    assert_null(reason_for(&p));
    p = stack_of(TD_LU_FACTOR, 513);
    assert_ptr_equal(reason_for(&p), td_reason_order);
    p = stack_of(TD_LU_INVERT, 257);
    assert_ptr_equal(reason_for(&p), td_reason_order);
    p = stack_of(TD_LU_FACTOR, 4);
    assert_ptr_equal(reason_for(&p), td_reason_faster);
    p = stack_of(TD_LU_FACTOR, 64);
    p.type = TD_DF;
    assert_ptr_equal(reason_for(&p), td_reason_plain);
    p = stack_of(TD_LU_INVERT, 64);
    assert_null(reason_for(&p));
    p = stack_of(TD_LU_SOLVE, 64);
    assert_null(reason_for(&p));
    p.k = 8;
    assert_ptr_equal(reason_for(&p), td_reason_faster);
    p = stack_of(TD_INVERT, 32);
    assert_null(reason_for(&p));
    p = stack_of(TD_TRIANGULAR_SOLVE, 64);
    assert_null(reason_for(&p));
    p.triangle = (td_triangle)2;
    assert_ptr_equal(reason_for(&p), td_reason_invalid);
    p = stack_of(TD_TRIANGULAR_SOLVE, 64);
    p.batch = 100;
    assert_ptr_equal(reason_for(&p), td_reason_faster);
}

/* Their products are the mode's from the same number of terms on everywhere. */
TEST(solves_with_one_triangle_are_the_modes)
{
    td_problem p = valid(TD_TRIANGULAR_SOLVE);
    p.batch = 1;
    assert_true(td_problem_is_solve(&p));
    for (td_type type = TD_BINARY64; type < TD_TYPE_COUNT; type++) {
        p.type = type;
        const td_decision d = decision_for(&p);
        if (type == TD_BINARY64 || type == TD_COMPLEX_BINARY64) {
            assert_null(d.reason);
            assert_string_equal(d.text, "slices:12");
            assert_int_equal(d.cut.least_terms, TD_SOLVE_LEAST_TERMS);
        } else {
            assert_ptr_equal(d.reason, td_reason_routine);
        }
    }
    p = stack_of(TD_TRIANGULAR_SOLVE, 64);
    assert_false(td_problem_is_solve(&p));
}

/* The products between their panels are the mode's, whatever the scalars that the call has not. */
TEST(factors_of_one_matrix_are_the_modes)
{
    static int numbers[2];
    td_problem p = valid(TD_FACTOR_LU);
    p.batch = 1;
    p.alpha.value.binary64 = 0.0;
    p.pivots = &numbers[0];
    p.info = &numbers[1];
    assert_false(td_problem_only_scales(&p));
    const td_decision d = decision_for(&p);
    assert_null(d.reason);
    assert_string_equal(d.text, "slices:12");
    p.pivots = NULL;
    assert_null(decision_for(&p).reason);
    p.info = NULL;
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
    p.info = &numbers[1];
    p.n = 0;
    assert_ptr_equal(decision_for(&p).reason, td_reason_empty);
}

/* Reflectors have scales, and no factorisation without them. */
TEST(qr_factors_are_the_modes)
{
    static double tau[8];
    static int info;
    td_problem p = valid(TD_FACTOR_QR);
    p.batch = 1;
    p.alpha.value.binary64 = 0.0;
    p.tau = tau;
    p.info = &info;
    assert_false(td_problem_only_scales(&p));
    assert_null(decision_for(&p).reason);
    p.type = TD_COMPLEX_BINARY64;
    assert_null(decision_for(&p).reason);
    p.type = TD_BINARY64;
    p.tau = NULL;
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
    p.tau = tau;
    p.info = NULL;
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
    p.info = &info;
    const td_memory memory = td_problem_memory(&p);
    assert_int_equal(memory.written.rows, 5);
    assert_int_equal(memory.written.columns, 8);
    assert_ptr_equal(memory.read[0].matrix.data, tau);
    assert_int_equal(memory.read[0].rows, 5);
    assert_ptr_equal(memory.ints[1].data, &info);
}

/* Eigenvectors begin with cuSOLVER's own of binary32. */
TEST(eigenvectors_are_the_modes)
{
    static double values[8];
    static int info;
    static const td_eigen_solver solver;
    td_problem p = valid(TD_EIGEN);
    p.batch = 1;
    p.values = values;
    p.info = &info;
    p.solver = &solver;
    assert_false(td_problem_only_scales(&p));
    assert_null(decision_for(&p).reason);
    p.lacks_vectors = true;
    assert_ptr_equal(decision_for(&p).reason, td_reason_vectors);
    p.lacks_vectors = false;
    p.type = TD_COMPLEX_BINARY64;
    assert_ptr_equal(decision_for(&p).reason, td_reason_routine);
    p.type = TD_BINARY64;
    p.values = NULL;
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
    p.values = values;
    p.solver = NULL;
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
    p.solver = &solver;
    const td_memory memory = td_problem_memory(&p);
    assert_int_equal(memory.written.rows, p.n);
    assert_ptr_equal(memory.read[0].matrix.data, values);
    assert_ptr_equal(memory.ints[1].data, &info);
}

/* Sizes that cuSOLVER refuses are for cuSOLVER to refuse. */
TEST(q_has_no_more_reflectors_than_rows)
{
    static double tau[8];
    static int info;
    td_problem p = valid(TD_FORM_Q);
    p.batch = 1;
    p.tau = tau;
    p.info = &info;
    p.m = 8, p.n = 5, p.k = 3;
    p.a.ld = 8;
    assert_null(decision_for(&p).reason);
    assert_int_equal(td_problem_memory(&p).read[0].rows, 3);
    p.k = 6;
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
    p = valid(TD_APPLY_Q);
    p.batch = 1;
    p.tau = tau;
    p.info = &info;
    p.m = 8, p.n = 5, p.k = 8;
    p.op_a = TD_OP_T;
    p.a.ld = p.c.ld = 8;
    assert_null(decision_for(&p).reason);
    assert_int_equal(td_problem_memory(&p).read[1].rows, 8);
    p.op_a = TD_OP_C;
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
    p.op_a = TD_OP_T;
    p.side = TD_RIGHT;
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
    p.k = 5;
    assert_null(decision_for(&p).reason);
    p.type = TD_COMPLEX_BINARY64; /* whose transpose is the conjugate one */
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
    p.op_a = TD_OP_C;
    assert_null(decision_for(&p).reason);
}

/* As many pivots as the matrix has steps, and of twice as many ints if they are wide. */
TEST(memory_of_factors_has_their_pivots)
{
    static int numbers[32];
    td_problem p = valid(TD_FACTOR_LU);
    p.batch = 1;
    p.pivots = numbers;
    p.info = &numbers[16];
    td_memory memory = td_problem_memory(&p);
    assert_int_equal(memory.written.rows, 5);
    assert_int_equal(memory.written.columns, 8);
    assert_int_equal(memory.ints[0].count, 5);
    assert_ptr_equal(memory.ints[1].data, p.info);
    assert_int_equal(memory.ints[1].count, 1);
    p.m = 9;
    p.has_wide_pivots = true;
    memory = td_problem_memory(&p);
    assert_int_equal(memory.ints[0].count, 16);
}

/* Solutions of one matrix have an info on the device; a batch's is on the host. */
TEST(memory_of_solutions_has_their_pivots)
{
    static int numbers[32];
    td_problem p = valid(TD_LU_SOLVE);
    p.batch = 1;
    p.pivots = numbers;
    p.info = &numbers[16];
    p.has_wide_pivots = true;
    td_memory memory = td_problem_memory(&p);
    assert_ptr_equal(memory.written.matrix.data, p.b.data);
    assert_int_equal(memory.written.rows, 8);
    assert_int_equal(memory.written.columns, 3);
    assert_int_equal(memory.read[0].columns, 8);
    assert_int_equal(memory.ints[0].count, 16);
    assert_ptr_equal(memory.ints[1].data, p.info);
    p.a.array = (void *const *)memory.written.matrix.data;
    assert_null(td_problem_memory(&p).ints[1].data);
    p = valid(TD_CHOLESKY_INVERT);
    p.batch = 1;
    p.info = numbers;
    memory = td_problem_memory(&p);
    assert_ptr_equal(memory.written.matrix.data, p.a.data);
    assert_int_equal(memory.written.rows, 8);
    assert_ptr_equal(memory.ints[1].data, numbers);
    assert_false(td_problem_only_scales(&p));
}

/* All of A, of which one triangle is written. */
TEST(memory_of_cholesky_factors_is_square)
{
    static int number;
    td_problem p = valid(TD_FACTOR_CHOLESKY);
    p.batch = 1;
    p.alpha.value.binary64 = 0.0;
    p.info = &number;
    const td_memory memory = td_problem_memory(&p);
    assert_int_equal(memory.written.rows, 8);
    assert_int_equal(memory.written.columns, 8);
    assert_null(memory.ints[0].data);
    assert_ptr_equal(memory.ints[1].data, p.info);
    assert_false(td_problem_only_scales(&p));
    assert_null(decision_for(&p).reason);
    p.type = TD_COMPLEX_BINARY64;
    assert_null(decision_for(&p).reason);
    p.info = NULL;
    assert_ptr_equal(decision_for(&p).reason, td_reason_invalid);
}
