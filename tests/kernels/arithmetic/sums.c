#include "sums.h"

#include <string.h>

#include "tests/support/bits.h"

#define OPERATIONS_OF(TYPE)                                                                        \
    OPERATION_##TYPE##_split, OPERATION_##TYPE##_add, OPERATION_##TYPE##_start,                    \
        OPERATION_##TYPE##_accumulate, OPERATION_##TYPE##_flush, OPERATION_##TYPE##_renormalise
const arithmetic arithmetics[ARITHMETICS] = {
    {"df", DF, OPERATIONS_OF(td_df), OPERATION_td_df_renormalise, TD_BLOCK, 0x1p-48},
    {"dd", DD, OPERATIONS_OF(td_dd), OPERATION_td_dd_renormalise, TD_BLOCK, 0x1p-106},
    {"ts", TS, OPERATIONS_OF(td_ts), OPERATION_td_ts_normalise, TD_TS_BLOCK, 0x1p-72},
};

void terms_start(terms *t, const arithmetic *f)
{
    t->f = f;
    exact_init(t->sum);
    exact_init(t->size);
    exact_init(t->term);
    exact_init(t->factor);
}

void terms_stop(terms *t) { mpfr_clears(t->sum, t->size, t->term, t->factor, (mpfr_ptr)0); }

number number_apply(operation which, const number *a, const number *b, const number *c)
{
    operation_in in = {.e = 0};
    number r;
    if (a) memcpy(in.a, a, sizeof in.a);
    if (b) memcpy(in.b, b, sizeof in.b);
    if (c) memcpy(in.c, c, sizeof in.c);
    const operation_out out = operation_apply(which, &in);
    for (int i = 0; i < MAX_PARTS; i++) r.part[i] = double_of(out.part[i]);
    return r;
}

number number_split(const arithmetic *f, double x)
{
    const number n = {{x}};
    return number_apply(f->split, &n, NULL, NULL);
}

number number_lengthen(const arithmetic *f, double x, test_random *r)
{
    number n = {{round_part(f->format, 0, x)}};
    random_lower(r, f->format, n.part);
    return n;
}

number sum_block(const terms *t, int first, int count)
{
    number s = number_apply(t->f->start, &t->a[first], &t->b[first], NULL);
    for (int i = first + 1; i < first + count; i++)
        s = number_apply(t->f->accumulate, &t->a[i], &t->b[i], &s);
    return s;
}

number sum_superblock(const terms *t, int first, int count)
{
    number s = {{0.0}};
    for (int i = 0; i < count; i += t->f->block) {
        const number block = sum_block(t, first + i, t->f->block);
        s = number_apply(t->f->flush, &block, NULL, &s);
        if ((i + t->f->block) % TD_RENORMALISE == 0)
            s = number_apply(t->f->renormalise, &s, NULL, NULL);
    }
    return number_apply(t->f->finish, &s, NULL, NULL);
}

number sum_all(const terms *t, int count)
{
    number sum = {{0.0}};
    for (int first = 0; first < count; first += TD_SUPERBLOCK) {
        const int left = count - first;
        const number s = sum_superblock(t, first, left < TD_SUPERBLOCK ? left : TD_SUPERBLOCK);
        sum = first ? number_apply(t->f->add, &sum, &s, NULL) : s;
    }
    return sum;
}

number sum_in_turn(const terms *t, int count, operation which)
{
    number s = {{0.0}};
    for (int i = 0; i < count; i++) s = number_apply(which, &t->a[i], &t->b[i], &s);
    return s;
}

double sum_error(terms *t, int count, number r)
{
    mpfr_set_zero(t->sum, 1);
    mpfr_set_zero(t->size, 1);
    for (int i = 0; i < count; i++) {
        exact_set_parts(t->term, t->a[i].part);
        exact_set_parts(t->factor, t->b[i].part);
        exact_multiply(t->term, t->factor);
        exact_add(t->sum, t->term);
        mpfr_abs(t->term, t->term, MPFR_RNDN);
        exact_add(t->size, t->term);
    }
    exact_set_parts(t->factor, r.part);
    return exact_distance(t->factor, t->sum, t->size);
}
