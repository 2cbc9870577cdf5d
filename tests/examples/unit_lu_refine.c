/* lu_solve's judgement of a solution: planted errors of a known size are measured as such. */
#include <math.h>

#include "../support/test.h"
#include "common.h"
#include "lu_refine.h"

const char program_name[] = "unit_lu_refine";

static double entries[] = {1.0, 0.0, 1.0, 0x1p-60}; /* rows (1, 1), (0, 2^-60) */
static const dense_matrix matrix = {2, 2, entries};
static const double exact[] = {1.0, 0x1p-70};

static solution_errors check(double x0, double x1)
{
    const double x[] = {x0, x1};
    double b[] = {1.0, 0x1p-130}, rest[2];
    solution_errors errors;

    assert_true(right_side_rest(&matrix, exact, b, rest));
    assert_true(rest[0] == 0x1p-70 && rest[1] == 0.0);
    assert_true(solution_check(&matrix, b, rest, exact, x, &errors));
    return errors;
}

TEST(the_exact_solution_has_no_error)
{
    solution_errors e = check(1.0, 0x1p-70);

    assert_true(e.componentwise == 0.0 && e.normwise == 0.0 && e.forward == 0.0);
}

/* The second component is wrong by half: a large error of its row, nothing beside the norms. */
TEST(errors_are_those_planted)
{
    solution_errors e = check(1.0, 0x1.8p-70);

    assert_true(e.forward == 0.5);
    assert_true(fabs(e.componentwise - 0.2) <= 1e-15); /* 0.5 / (1.5 + 1) */
    assert_true(fabs(e.normwise - 0x1p-71 / 3.0) <= 1e-30);
    e = check(1.0 + 0x1p-40, 0x1p-70);
    assert_true(e.forward == 0x1p-40);
    assert_true(fabs(e.componentwise - 0x1p-41) <= 1e-20);
}

TEST(nan_is_seen)
{
    solution_errors e = check(1.0, NAN);

    assert_true(isnan(e.forward) && isnan(e.componentwise) && isnan(e.normwise));
}
