#include "product.h"

bool td_matrix_is_aligned(const td_matrix *x, int64_t batch)
{
    const uint64_t first = x->array ? 0 : (uint64_t)(uintptr_t)x->data,
                   stride = x->array || batch == 1 ? 0 : (uint64_t)x->stride;
    return (first | sizeof(double) * ((uint64_t)x->ld | stride)) % 16 == 0;
}

td_matrix td_matrix_moved(const td_matrix *x, int64_t rows, int64_t columns, td_type type)
{
    td_matrix to = *x;
    const int64_t bytes = (rows + columns * x->ld) * td_types[type].size;
    to.data = (void *)((uintptr_t)x->data + (uintptr_t)bytes);
    return to;
}

bool td_product_has_rest(const td_product *p) { return p->rest_a.data || p->rest_a.array; }

bool td_product_is_empty(const td_product *p) { return p->m == 0 || p->n == 0 || p->batch == 0; }

static td_type type_of_alpha(const td_product *p)
{
    return p->alpha_is_real ? td_real_type(p->type) : p->type;
}

static td_type type_of_beta(const td_product *p)
{
    return p->beta_is_real ? td_real_type(p->type) : p->type;
}

bool td_product_only_scales(const td_product *p)
{
    return p->k == 0 || !td_scalar_counts(&p->alpha, type_of_alpha(p));
}

bool td_real_only_scales(const td_real_product *p)
{
    return p->k == 0 || !td_scalar_counts(&p->alpha, p->type);
}

bool td_product_has_beta(const td_product *p)
{
    return td_scalar_counts(&p->beta, type_of_beta(p));
}

bool td_real_has_beta(const td_real_product *p) { return td_scalar_counts(&p->beta, p->type); }

bool td_product_has_addend(const td_product *p) { return p->addend.data && td_product_has_beta(p); }

/* A matrix that lies in rows or in columns. */
static td_extent in_order(const td_matrix *x, bool in_rows, int64_t rows, int64_t columns)
{
    return td_operand(x, in_rows ? TD_OP_T : TD_OP_N, rows, columns);
}

td_memory td_product_memory(const td_product *p)
{
    const int64_t k = td_product_has_rest(p) ? p->k / 2 : p->k;
    td_memory memory = {.alpha = p->alpha.device,
                        .beta = p->beta.device,
                        .batch = p->batch,
                        .element_bytes = td_types[p->type].size,
                        .alpha_bytes = td_types[type_of_alpha(p)].size,
                        .beta_bytes = td_types[type_of_beta(p)].size};
    memory.written = in_order(&p->c, p->c_in_rows, p->m, p->n);
    if (td_product_has_addend(p))
        memory.added = in_order(&p->addend, p->addend_in_rows, p->m, p->n);
    if (td_product_only_scales(p)) return memory;
    memory.read[0] = td_operand(&p->a, p->op_a, p->m, k);
    memory.read[1] = td_operand(&p->b, p->op_b, k, p->n);
    if (!td_product_has_rest(p)) return memory;
    memory.read[2] = td_operand(&p->rest_a, p->op_a, p->m, k);
    memory.read[3] = td_operand(&p->rest_b, p->op_b, k, p->n);
    return memory;
}

td_product td_product_in_whole(const td_product *tile)
{
    td_product whole = *tile->whole;
    whole.c = td_matrix_moved(&tile->c, -tile->row, -tile->column, tile->type);
    whole.has_real_diagonal = tile->has_real_diagonal;
    whole.stream = tile->stream;
    whole.lent = tile->lent;
    whole.progress = tile->progress;
    whole.window = (td_window){tile->row, tile->column, tile->m, tile->n};
    return whole;
}

td_window td_product_made(const td_product *p)
{
    return p->window.m > 0 ? p->window : (td_window){0, 0, p->m, p->n};
}

td_window td_real_made(const td_real_product *p)
{
    return p->window.m > 0 ? p->window : (td_window){0, 0, p->m, p->n};
}

td_matrix td_product_made_c(const td_product *p)
{
    return p->window.m > 0 ? td_matrix_moved(&p->c, p->window.i, p->window.j, p->type) : p->c;
}

td_matrix td_real_made_c(const td_real_product *p)
{
    return p->window.m > 0 ? td_matrix_moved(&p->c, p->window.i, p->window.j, p->type) : p->c;
}

td_problem td_call_of_product(const td_product *p)
{
    return (td_problem){.kind = TD_PRODUCT,
                        .type = p->type,
                        .op_a = p->op_a,
                        .op_b = p->op_b,
                        .is_conjugate_a = p->form_a.is_conjugate,
                        .is_conjugate_b = p->form_b.is_conjugate,
                        .m = p->m,
                        .n = p->n,
                        .k = p->k,
                        .alpha = p->alpha,
                        .beta = p->beta,
                        .a = p->a,
                        .b = p->b,
                        .c = p->c,
                        .batch = p->batch,
                        .stream = p->stream,
                        .lent = p->lent};
}
