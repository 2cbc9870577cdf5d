/* format_tmpl.h - a multi-float format: its mode, its typed product and its conversions, in plain
 * C; docs/numerics.md has the definition. Included by ref_formats.c for each format, which defines
 *
 *   NAME(name)               the names to define
 *   MODE, TYPE               the texts of ref_format
 *   STORED, LOAD(s)          the type of matrices, and what of TD is computed with;
 *   COMPUTED, STORE(x)       that type, and how it is stored
 *   SHORTEN(x)               what the mode makes of a sum before it is joined
 *   PARTS, PART(s, i)        their number; part i of a number of either type
 *   BLOCK                    terms of a block
 *   TD(name)                 the functions of kernels/ on COMPUTED
 *   SUM(s), ADDEND(s)        the sum of a block as an argument to change, and to add
 *   FINISH(s)                what ends a superblock
 *   REAL, SPREAD, LEAST      when an element is repaired: past SPREAD, below k LEAST in REAL
 *   RESULT(alpha, t, e, beta, c)
 *                            an element of C from its sum times 2^e
 *   REPAIR(p, a, b, i, j, c) the same from the operands, of two lines that span a and b */

static COMPUTED NAME(block_sum)(const COMPUTED *a, const COMPUTED *b, int64_t count)
{
    COMPUTED s;
    TD(start)(SUM(s), a[0], b[0]);
    for (int64_t l = 1; l < count; l++) TD(accumulate)(SUM(s), a[l], b[l]);
    return s;
}

static COMPUTED NAME(superblock_sum)(const COMPUTED *a, const COMPUTED *b, int64_t count)
{
    COMPUTED s = {0};
    for (int64_t l = 0; l < count; l += BLOCK) {
        const COMPUTED block = NAME(block_sum)(a + l, b + l, smaller(BLOCK, count - l));
        TD(flush)(&s, ADDEND(block));
        if ((l + BLOCK) % TD_RENORMALISE == 0) TD(renormalise)(&s);
    }
    FINISH(s);
    return s;
}

static COMPUTED NAME(sum)(const COMPUTED *a, const COMPUTED *b, int64_t k)
{
    COMPUTED t = {0};
    for (int64_t l = 0; l < k; l += TD_SUPERBLOCK) {
        const COMPUTED s = NAME(superblock_sum)(a + l, b + l, smaller(TD_SUPERBLOCK, k - l));
        t = l == 0 ? s : TD(add)(t, s);
    }
    return t;
}

/* Mode */

/* The elements of all lines, each scaled by 2^-top; *ranges takes what they span. */
static COMPUTED *NAME(scaled_lines)(const operand *o, range **ranges)
{
    COMPUTED *x = allocate(o->lines * o->k, sizeof *x);
    *ranges = allocate(o->lines, sizeof **ranges);
    for (int64_t i = 0; i < o->lines; i++) {
        (*ranges)[i] = range_of(o, i);
        for (int64_t l = 0; l < o->k; l++)
            x[i * o->k + l] = TD(split)(td_bits64(((const double *)o->data)[place_of(o, i, l)]),
                                        (*ranges)[i].top);
    }
    return x;
}

/* True if the format's exponents cannot be trusted with the products of two lines whose sum is
 * t. */
static bool NAME(needs_repair)(range a, range b, COMPUTED t, int64_t k)
{
    if (a.is_special || b.is_special) return true;
    if (a.top - a.bottom + (b.top - b.bottom) <= SPREAD) return false;
    const REAL first = PART(t, 0);
    return !((first < 0 ? -first : first) >= (REAL)k * (REAL)LEAST);
}

static int64_t NAME(product)(const ref_gemm *p)
{
    if (p->k == 0 || p->alpha == 0.0) {
        ref_scale(p);
        return 0;
    }
    const operand rows = operand_of(p->a, p->m, p->k, p->lda, p->op_a == TANDEM_OP_T);
    const operand cols = operand_of(p->b, p->n, p->k, p->ldb, p->op_b == TANDEM_OP_N);
    range *a_range, *b_range;
    COMPUTED *a = NAME(scaled_lines)(&rows, &a_range), *b = NAME(scaled_lines)(&cols, &b_range);
    int64_t repaired = 0;
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            COMPUTED t = NAME(sum)(a + i * p->k, b + j * p->k, p->k);
            double *c = p->c + i + j * p->ldc;
            t = SHORTEN(t);
            const bool is_repaired = NAME(needs_repair)(a_range[i], b_range[j], t, p->k);
            *c = is_repaired ? REPAIR(p, a_range[i], b_range[j], i, j, c)
                             : RESULT(p->alpha, t, a_range[i].top + b_range[j].top, p->beta, c);
            repaired += is_repaired;
        }
    free(a);
    free(b);
    free(a_range);
    free(b_range);
    return repaired;
}

/* Type */

static COMPUTED *NAME(loaded_lines)(const operand *o)
{
    COMPUTED *x = allocate(o->lines * o->k, sizeof *x);
    for (int64_t i = 0; i < o->lines; i++)
        for (int64_t l = 0; l < o->k; l++)
            x[i * o->k + l] = LOAD(((const STORED *)o->data)[place_of(o, i, l)]);
    return x;
}

static void NAME(typed)(const ref_typed *p)
{
    const COMPUTED alpha = LOAD(*(const STORED *)p->alpha), beta = LOAD(*(const STORED *)p->beta);
    const int64_t k = PART(alpha, 0) == 0 ? 0 : p->k;
    const operand rows = operand_of(p->a, p->m, k, p->lda, p->op_a == TANDEM_OP_T);
    const operand cols = operand_of(p->b, p->n, k, p->ldb, p->op_b == TANDEM_OP_N);
    COMPUTED *a = NAME(loaded_lines)(&rows), *b = NAME(loaded_lines)(&cols);
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            STORED *c = (STORED *)p->c + i + j * p->ldc;
            COMPUTED x = {0};
            if (k > 0) x = TD(mul)(alpha, NAME(sum)(a + i * k, b + j * k, k));
            if (PART(beta, 0) != 0) x = TD(add)(x, TD(mul)(beta, LOAD(*c)));
            *c = STORE(x);
        }
    free(a);
    free(b);
}

static void NAME(split)(double x, void *s) { *(STORED *)s = STORE(TD(split)(td_bits64(x), 0)); }

static double NAME(join)(const void *s) { return TD(join)(LOAD(*(const STORED *)s)); }

static void NAME(get)(const void *s, double part[3])
{
    for (int i = 0; i < PARTS; i++) part[i] = (double)PART(*(const STORED *)s, i);
}

const ref_format NAME(format) = {
    .mode = MODE,
    .type = TYPE,
    .bytes = sizeof(STORED),
    .alignment = _Alignof(STORED),
    .parts = PARTS,
    .product = NAME(product),
    .typed = NAME(typed),
    .split = NAME(split),
    .join = NAME(join),
    .get = NAME(get),
};

#undef NAME
#undef MODE
#undef TYPE
#undef STORED
#undef LOAD
#undef COMPUTED
#undef STORE
#undef SHORTEN
#undef PARTS
#undef PART
#undef BLOCK
#undef TD
#undef SUM
#undef ADDEND
#undef FINISH
#undef REAL
#undef SPREAD
#undef LEAST
#undef RESULT
#undef REPAIR
