/* ref_lu_tmpl.h - ref_lu.c for one width: REAL, REAL_FMA, REAL_ABS, SAFE (binary exponents within
 * which reciprocals need no scaling), SHIFT (by which others are scaled), REF(name). A real
 * matrix's numbers have the imaginary part 0. */

typedef struct {
    REAL re, im;
} REF(number);

static REF(number) REF(get)(const REF(matrix) * m, int i, int j)
{
    const REAL *at = (const REAL *)m->at + (i + (int64_t)j * m->ld) * (m->is_complex ? 2 : 1);
    return (REF(number)){at[0], m->is_complex ? at[1] : 0};
}

static void REF(put)(const REF(matrix) * m, int i, int j, REF(number) x)
{
    REAL *at = (REAL *)m->at + (i + (int64_t)j * m->ld) * (m->is_complex ? 2 : 1);
    at[0] = x.re;
    if (m->is_complex) at[1] = x.im;
}

/* c - a b */
static REF(number) REF(minus)(bool is_complex, REF(number) c, REF(number) a, REF(number) b)
{
    c.re = REAL_FMA(-a.re, b.re, c.re);
    if (!is_complex) return c;
    c.re = REAL_FMA(a.im, b.im, c.re);
    c.im = REAL_FMA(-a.re, b.im, c.im);
    c.im = REAL_FMA(-a.im, b.re, c.im);
    return c;
}

static REF(number) REF(times)(bool is_complex, REF(number) a, REF(number) b)
{
    if (!is_complex) return (REF(number)){a.re * b.re, 0};
    return (REF(number)){REAL_FMA(-a.im, b.im, a.re * b.re), REAL_FMA(a.im, b.re, a.re * b.im)};
}

static REF(number) REF(scale)(REF(number) a, REAL s) { return (REF(number)){a.re * s, a.im * s}; }

/* Of the larger part; below every exponent for zeros and subnormal numbers, SPECIAL for NaN and
 * infinities. */
static int REF(exponent)(REF(number) a)
{
    const REAL top = REAL_ABS(a.re) > REAL_ABS(a.im) || a.im != a.im ? a.re : a.im;
    if (a.re - a.re != 0 || a.im - a.im != 0) return SPECIAL;
    return REAL_ABS(top) < REAL_LEAST ? -SPECIAL : ilogb((double)top);
}

/* a / p: p is brought near 1 if it is far from it, its reciprocal is rounded, and the product with
 * a is. */
static REF(number) REF(divided)(bool is_complex, REF(number) a, REF(number) p)
{
    const int exponent = REF(exponent)(p);
    if (exponent == SPECIAL && is_complex) {
        p = (REF(number)){1 / (REAL_ABS(p.re) + REAL_ABS(p.im)), 0};
        return REF(times)(true, a, p);
    }
    const int shift = exponent < -SAFE                         ? SHIFT
                      : exponent > SAFE && exponent != SPECIAL ? -SHIFT
                                                               : 0;
    const REAL by = (REAL)ldexp(1.0, shift);
    if (shift) a = REF(scale)(a, by), p = REF(scale)(p, by);
    if (!is_complex) return (REF(number)){a.re * (1 / p.re), 0};
    const REAL unit = (REAL)ldexp(1.0, -REF(exponent)(p));
    const REF(number) near = REF(scale)(p, unit);
    const REAL factor = 1 / REAL_FMA(near.re, near.re, near.im * near.im) * unit;
    return REF(times)(true, a, (REF(number)){near.re * factor, -near.im * factor});
}

/* Larger for a larger |x|; 0 for a NaN. Complex numbers are ordered by the bits of re^2 + im^2 or,
 * where that is near the ends of the range, by the leading ones of |re| + |im|, for which there is
 * room at the ends. */
static uint64_t REF(key)(bool is_complex, REF(number) x)
{
    const REAL square = REAL_FMA(x.re, x.re, x.im * x.im), sum = REAL_ABS(x.re) + REAL_ABS(x.im);
    const unsigned high = REF(high)(sum);
    if (sum != sum) return 0;
    if (!is_complex) return (uint64_t)high << 32 | REF(low)(sum);
    if (square >= REAL_SQUARES_FROM && square < REAL_SQUARES_TO)
        return (uint64_t)REF(high)(square) << 32 | REF(low)(square);
    if (high == REF(high)((REAL)INFINITY)) return (uint64_t)high << 32 | REF(low)(square);
    const unsigned tiny = sum == 0 ? 0 : REF(shortened)(high);
    const unsigned huge =
        REF(high)(REAL_SQUARES_TO) + ((high - REF(high)(REAL_HUGE_FROM)) >> REAL_HUGE_SHIFT);
    return (uint64_t)(square < 1 ? tiny : huge) << 32 | REF(low)(square);
}

/* The row from j on whose element of column j has the largest key; the first of such. */
static int REF(pivot)(const REF(matrix) * a, int n, int j)
{
    int best = j;
    for (int i = j + 1; i < n; i++)
        if (REF(key)(a->is_complex, REF(get)(a, i, j)) >
            REF(key)(a->is_complex, REF(get)(a, best, j)))
            best = i;
    return best;
}

static void REF(swap_rows)(const REF(matrix) * a, int columns, int i, int k)
{
    for (int c = 0; c < columns; c++) {
        const REF(number) x = REF(get)(a, i, c);
        REF(put)(a, i, c, REF(get)(a, k, c));
        REF(put)(a, k, c, x);
    }
}

static int REF(factor)(const REF(matrix) * a, int n, int *pivots)
{
    int info = 0;
    for (int j = 0; j < n; j++) {
        const int row = pivots ? REF(pivot)(a, n, j) : j;
        if (pivots) pivots[j] = row + 1;
        REF(swap_rows)(a, n, j, row);
        const REF(number) p = REF(get)(a, j, j);
        const bool is_zero = p.re == 0 && p.im == 0;
        if (is_zero && !info) info = j + 1;
        for (int i = j + 1; i < n; i++) {
            REF(number) l = REF(get)(a, i, j);
            if (!is_zero) l = REF(divided)(a->is_complex, l, p);
            REF(put)(a, i, j, l);
            for (int c = j + 1; c < n; c++) REF(put)
            (a, i, c, REF(minus)(a->is_complex, REF(get)(a, i, c), l, REF(get)(a, j, c)));
        }
    }
    return info;
}

/* Element (i, k) of op(A), or of its transpose for vectors that are rows. */
static REF(number) REF(element)(const ref_lu_triangle *t, const REF(matrix) * a, int i, int k)
{
    const bool transposed = (t->op != REF_LU_OP_N) != t->is_right;
    REF(number) x = transposed ? REF(get)(a, k, i) : REF(get)(a, i, k);
    if (t->op == REF_LU_OP_C) x.im = -x.im;
    return x;
}

static void REF(solve_triangle)(const ref_lu_triangle *t, bool is_complex)
{
    const REF(matrix) a = {(void *)(uintptr_t)t->a, t->lda, is_complex},
                      b = {t->b, t->ldb, is_complex};
    const bool backward = t->is_upper != ((t->op != REF_LU_OP_N) != t->is_right);
    const REF(number) alpha = {(REAL)t->alpha_re, (REAL)t->alpha_im};
    for (int v = 0; v < t->vectors; v++)
        for (int i = 0; i < t->n; i++) {
            const int r = t->is_right ? v : i, c = t->is_right ? i : v;
            if (alpha.re == 1 && alpha.im == 0) continue;
            const REF(number) zero = {0, 0};
            const bool vanishes = alpha.re == 0 && alpha.im == 0;
            REF(put)(&b, r, c, vanishes ? zero : REF(times)(is_complex, alpha, REF(get)(&b, r, c)));
        }
    if (alpha.re == 0 && alpha.im == 0) return;
    for (int v = 0; v < t->vectors; v++) {
        const int start = t->start_of_32 ? v / 32 * 32 : 0;
        for (int step = start; step < t->n; step++) {
            const int i = backward ? t->n - 1 - step : step;
            const int r = t->is_right ? v : i, c = t->is_right ? i : v;
            REF(number) x = REF(get)(&b, r, c);
            for (int before = start; before < step; before++) {
                const int k = backward ? t->n - 1 - before : before;
                const REF(number) known = REF(get)(&b, t->is_right ? v : k, t->is_right ? k : v);
                x = REF(minus)(is_complex, x, REF(element)(t, &a, i, k), known);
            }
            if (!t->is_unit) x = REF(divided)(is_complex, x, REF(element)(t, &a, i, i));
            REF(put)(&b, r, c, x);
        }
    }
}
