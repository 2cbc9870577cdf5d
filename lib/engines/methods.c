#include "methods.h"

#include <math.h>

#include "../routine/lower.h"
#include "../routine/real.h"
#include "native_knows.h"

static const td_method *const methods[] = {&td_method_batched_lu, &td_method_solve, &td_method_lu,
                                           &td_method_product};

void td_ask(td_entry entry, const td_problem *p, td_question *q)
{
    q->entry = entry;
    q->called = p;
    q->is_lowered = td_lower(p, &q->product);
    if (q->is_lowered) td_real_product(&q->product, &q->real);
    if (q->is_lowered) q->real.lacks_branch |= !td_native_knows(p);
    q->method = NULL;
    for (size_t i = 0; i < sizeof methods / sizeof *methods && !q->method; i++)
        if (methods[i]->accepts(q)) q->method = methods[i];
}

/* Gauss's three products: an imaginary part has errors of the size of the real one. */
static bool is_of_three_products(td_entry entry)
{
    return entry == TD_ENTRY_cublasZgemm3m || entry == TD_ENTRY_cublasZgemm3m_64;
}

td_promise td_promised(const td_question *q, const td_decision *decision)
{
    const bool is_native = !decision->engine;
    const td_engine *engine = is_native ? td_engines[0] : decision->engine;
    const td_promise nothing = {.bound.relative = (double)INFINITY, .is_native = is_native};
    if (!engine->proven || (is_native && is_of_three_products(q->entry)) || !q->method ||
        !q->method->promised)
        return nothing;
    return q->method->promised(q, decision);
}
