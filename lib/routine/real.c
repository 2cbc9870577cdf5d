#include "real.h"

td_folded td_folded_of(const td_product *product, int which, int part)
{
    const td_op op = which ? product->op_b : product->op_a;
    const td_matrix *const matrix =
        part ? (which ? &product->rest_b : &product->rest_a) : (which ? &product->b : &product->a);
    const td_form *const form = which ? &product->form_b : &product->form_a;
    const bool is_complex = product->type == TD_COMPLEX_BINARY64;
    return (td_folded){.matrix = *matrix,
                       .form = *form,
                       .is_complex = is_complex,
                       .is_transposed = op != TD_OP_N,
                       .is_conjugate = is_complex && (op == TD_OP_C) != form->is_conjugate};
}

bool td_is_in_place(const td_product *product, int which)
{
    const td_matrix *const x = which ? &product->b : &product->a;
    return x->array ? x->array == product->c.array : x->data && x->data == product->c.data;
}

static bool are_same(const td_matrix *x, const td_matrix *y)
{
    return x->data == y->data && x->array == y->array && x->ld == y->ld && x->stride == y->stride;
}

/* True if op(B)' has op(A)'s elements but for signs: each of their lines needs to be looked at
 * once. */
static bool is_gram(const td_product *p)
{
    return p->m == p->n && are_same(&p->a, &p->b) && (p->op_a == TD_OP_N) != (p->op_b == TD_OP_N) &&
           p->form_a.storage == TD_STORED_FULL && p->form_b.storage == TD_STORED_FULL &&
           !td_product_has_rest(p);
}

bool td_has_lines_of_a(const td_product *p)
{
    return p->type == TD_COMPLEX_BINARY64 && p->op_a == TD_OP_N && p->op_b == TD_OP_C &&
           !p->form_a.is_conjugate && !p->form_b.is_conjugate && is_gram(p);
}

/* True if kernels cannot read a factor as it is. */
static bool has_to_be_unfolded(const td_product *product, int which)
{
    const td_form *form = which ? &product->form_b : &product->form_a;
    if (which == 1 && td_has_lines_of_a(product)) return false;
    if (form->storage != TD_STORED_FULL || td_product_has_rest(product) ||
        td_is_in_place(product, which))
        return true;
    /* A complex op(B) of columns has its pairs along k as it is. */
    return product->type == TD_COMPLEX_BINARY64 &&
           (which == 0 || product->op_b != TD_OP_N || form->is_conjugate);
}

bool td_is_unfolded(const td_product *product, int which)
{
    /* Nothing copies members of an array in boxes: op(B) is brought to where op(A)'s lines are. */
    const bool is_array = which == 1 && product->b.array && product->type == TD_COMPLEX_BINARY64 &&
                          !td_has_lines_of_a(product);
    return is_array || has_to_be_unfolded(product, which);
}

bool td_is_folded(const td_product *p)
{
    return p->type == TD_COMPLEX_BINARY64 || td_is_unfolded(p, 0) || td_is_unfolded(p, 1);
}

static void double_steps(td_matrix *x)
{
    x->ld *= 2;
    x->stride *= 2;
}

/* Bytes that are read and written to unfold a factor of so many elements, if it is unfolded: a
 * complex one on the left becomes twice as many numbers. */
static double bytes_of_unfolding(const td_product *p, int which, bool is_unfolded)
{
    const double elements = (double)(which ? p->n : p->m) * (double)p->k * (double)p->batch,
                 of_complex = which ? 32.0 : 48.0;
    if (!is_unfolded) return 0.0;
    return elements * (p->type == TD_COMPLEX_BINARY64 ? of_complex : 16.0);
}

bool td_moves_result(const td_product *p) { return p->c_in_rows || td_product_has_addend(p); }

/* Bytes that are read and written to bring what beta multiplies to where C is made, and C from
 * there. */
static double bytes_of_result(const td_product *p)
{
    const double elements = (double)p->m * (double)p->n * (double)p->batch,
                 copies = (p->c_in_rows ? 1.0 : 0.0) + (td_product_has_beta(p) ? 1.0 : 0.0);
    if (!td_moves_result(p)) return 0.0;
    return copies * elements * (p->type == TD_COMPLEX_BINARY64 ? 32.0 : 16.0);
}

td_real_product td_real_product_of(const td_product *product)
{
    const bool is_complex = product->type == TD_COMPLEX_BINARY64;
    const bool unfolds_a = td_is_unfolded(product, 0), unfolds_b = td_is_unfolded(product, 1);
    const int64_t parts = is_complex ? 2 : 1;
    td_real_product real = {
        .type = is_complex ? TD_BINARY64 : product->type,
        .op_a = unfolds_a ? TD_OP_T : product->op_a,
        .op_b = unfolds_b || td_has_lines_of_a(product) ? TD_OP_N : product->op_b,
        .routine = product->routine,
        /* The mirror image is of the other half. */
        .region = product->adds_mirror ? TD_REGION_ALL : product->region,
        .is_paired = is_complex,
        .is_gram = is_gram(product),
        .unfolded_bytes = bytes_of_unfolding(product, 0, unfolds_a) +
                          bytes_of_unfolding(product, 1, unfolds_b) + bytes_of_result(product),
        .m = parts * product->m,
        .n = product->n,
        .k = parts * product->k,
        .alpha = product->alpha,
        .beta = product->beta,
        .a = product->a,
        .b = product->b,
        .c = product->c,
        .window = {parts * product->window.i, product->window.j, parts * product->window.m,
                   product->window.n},
        .progress = product->progress,
        .batch = product->batch,
        .stream = product->stream,
        .lent = product->lent,
    };
    if (is_complex) {
        double_steps(&real.b);
        double_steps(&real.c);
    }
    return real;
}
