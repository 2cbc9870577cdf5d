/* unit_methods.c - every routine that Tandem makes has one method, and what the table of routines
 * and that of kinds say of it fits. */
#include <string.h>

#include "tests/support/test.h"
#include "lib/engines/methods.h"
#include "lib/routine/entries.h"

static const td_method *const methods[] = {
    &td_method_product, &td_method_solve,    &td_method_batched_lu,
    &td_method_lu,      &td_method_cholesky, &td_method_qr,
    &td_method_q,       &td_method_solution, &td_method_eigen};
enum { METHODS = sizeof methods / sizeof *methods };

static td_value memory[3];
static void *array[1];

static td_matrix matrix_of(const td_routine *r, int which)
{
    const bool is_stack = strstr(r->name, "Batched") && !strstr(r->name, "Strided");
    return (td_matrix){.data = is_stack ? NULL : &memory[which],
                       .array = is_stack ? array : NULL,
                       .ld = 8,
                       .stride = 64};
}

static td_problem call_of(const td_routine *r)
{
    return (td_problem){.kind = r->kind,
                        .type = r->type == TD_TYPE_COUNT ? TD_BINARY64 : r->type,
                        .is_hermitian = r->is_hermitian,
                        .m = 8,
                        .n = 8,
                        .k = 8,
                        .a = matrix_of(r, 0),
                        .b = matrix_of(r, 1),
                        .c = matrix_of(r, 2),
                        .alpha.value.complex_binary64 = {1.0, 0.0},
                        .batch = 1};
}

static int count_accepting(const td_question *q)
{
    int count = 0;
    for (int i = 0; i < METHODS; i++) count += methods[i]->accepts(q);
    return count;
}

TEST(every_routine_has_one_method)
{
    for (int e = 0; e < TD_ENTRY_COUNT; e++) {
        const td_routine *r = &td_routines[td_entries[e].routine];
        const td_problem p = call_of(r);
        td_question q;
        td_ask((td_entry)e, &p, &q);
        assert_true(td_problem_is_valid(&p));
        assert_int_equal(r->cause, TD_CAUSE_COUNT);
        assert_int_equal(count_accepting(&q), 1);
        assert_non_null(q.method);
        assert_true(q.method->accepts(&q));
        assert_ptr_equal(q.called, &p);
        assert_int_equal(q.entry, e);
    }
}

TEST(native_routines_have_no_entry)
{
    for (int e = 0; e < TD_ENTRY_COUNT; e++) {
        const td_routine *r = &td_routines[td_entries[e].routine];
        assert_memory_equal(td_entries[e].name, r->name, strlen(r->name));
    }
    for (int i = 0; i < TD_ROUTINE_COUNT; i++)
        assert_int_equal(td_routines[i].cause == TD_CAUSE_COUNT,
                         td_routines[i].kind != TD_KIND_COUNT);
}

/* A method answers all that is asked of it, or none of what a mode's arithmetic is asked. Where
 * bits are cuSOLVER's, sizes alone choose no mode. */
TEST(methods_are_whole)
{
    for (int i = 0; i < METHODS; i++) {
        const td_method *m = methods[i];
        assert_non_null(m->run);
        const bool has_own_bits = m->is_large || m == &td_method_eigen;
        const bool answers[] = {m->terms,     m->most_bits, m->predict, m->predict_one,
                                m->found_out, m->priced,    m->cut,     has_own_bits,
                                m->promised,  m->sample,    m->tiles};
        for (size_t j = 0; j < sizeof answers / sizeof *answers; j++)
            assert_int_equal(answers[j], m->engine == NULL);
    }
}

/* What a kind writes is the last matrix that it has. */
TEST(kinds_write_their_last_matrix)
{
    td_problem p = {.kind = TD_PRODUCT};
    for (int kind = 0; kind < TD_KIND_COUNT; kind++) {
        p.kind = (td_kind)kind;
        const bool is_in_place = kind == TD_LU_FACTOR || kind == TD_CHOLESKY_INVERT ||
                                 (td_kind_is_factorisation(p.kind) && kind != TD_APPLY_Q);
        const bool is_solve =
            kind == TD_TRIANGULAR_SOLVE || kind == TD_LU_SOLVE || kind == TD_CHOLESKY_SOLVE;
        const td_matrix *expected = is_in_place ? &p.a : is_solve ? &p.b : &p.c;
        assert_ptr_equal(td_problem_result(&p), expected);
        assert_int_equal(td_kind_is_update(p.kind), td_kinds[kind].has_triangle &&
                                                        !td_kinds[kind].has_side &&
                                                        td_kinds[kind].c);
    }
}
