/* What the policy makes of problems of every kind where nothing is predicted: an engine, or a
 * reason to leave them native. */
#include "tests/support/test.h"
#include "lib/engines/engine.h"
#include "lib/engines/batched_lu/limits.h"
#include "lib/engines/solve/solve.h"
#include "tests/lib/support/asked.h"
#include "tests/lib/support/valid_problem.h"

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
