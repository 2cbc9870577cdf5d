/* Problems of every kind: what is valid, what is empty, what is written, and which memory. */
#include "tests/support/test.h"
#include "lib/engines/methods.h"
#include "lib/routine/lower.h"
#include "tests/lib/support/valid_problem.h"

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
