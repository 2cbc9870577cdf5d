/* element.h - an element of a sample: where it is, which real products it is the sum of, and what
 * these are combined with. For kernels.
 *
 * Every element is a real number: a part of a complex element counts for itself. It is
 *     by[0] sum[0] + by[1] sum[1] + beta[0] before[0] + beta[1] before[1],
 * where the sums are the parts of the product: its own part, and, of a complex one, the other. */
#ifndef TD_SAMPLE_ELEMENT_H
#define TD_SAMPLE_ELEMENT_H

#include "../unfold/folded.h"
#include "sample.h"

/* Few on the host device, where each thread takes its own time. */
enum { WARP = 32, THREADS = TD_HAS_CUDA_DEVICE ? 512 : 64 };

struct element {
    int64_t place, row, col, member;
    int part;              /* of its number; 0 if that is real */
    int sums;              /* that count for its value or its size: 1 or 2 */
    int64_t k, first, end; /* terms, and those that the block has */
    double by[2], beta[2], before[2];
    double after; /* what the sum is to be */
    double found; /* the part that the call has made */
    td_term alpha_of_call, beta_of_call;

    /* Of a solve: the number on the diagonal, in size, and the number of its term if that is left
     * out, as the X that it multiplies is not finite; else -1. */
    double diagonal;
    int64_t left_out;
    bool has_scalars; /* alpha and beta are taken for complex */
};

/* ---- places ---- */

/* Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014. */
TD_DEVICE uint64_t hash_of(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

TD_DEVICE int parts_of(const td_sample &s) { return s.is_complex ? 2 : 1; }
TD_DEVICE int64_t numbers_of(const td_sample &s) { return s.count * parts_of(s); }
TD_DEVICE bool takes_all(const td_sample &s) { return s.count >= s.m * s.n * s.batch; }

/* Where the sample's place number i is; false if C has no such element. What a sample has outside
 * of a triangle, it takes on the other side of the diagonal. */
TD_DEVICE bool go_to(const td_sample &s, int64_t i, element *at)
{
    const uint64_t all = (uint64_t)(s.m * s.n * s.batch),
                   place = takes_all(s) ? (uint64_t)i : hash_of(s.seed + (uint64_t)i) % all;
    at->place = i;
    at->part = 0;
    at->row = (int64_t)(place % (uint64_t)s.m);
    at->col = (int64_t)(place / (uint64_t)s.m % (uint64_t)s.n);
    at->member = (int64_t)(place / (uint64_t)s.m / (uint64_t)s.n);
    if (td_region_has(&s.region, at->row, at->col)) return true;
    const int64_t row = at->row;
    at->row = at->col;
    at->col = row;
    return !takes_all(s);
}

/* Sets *at to where the sample's real number i is: part i % parts_of(s) of its place
 * i / parts_of(s). False if C has no such element. */
TD_DEVICE bool go_to_number(const td_sample &s, int64_t i, element *at)
{
    const bool is_there = go_to(s, i / parts_of(s), at);
    at->part = (int)(i % parts_of(s));
    return is_there;
}

/* The element's number, in c or `old`. */
TD_DEVICE_CALL td_term load_number(const td_sample &s, const td_matrix &from, bool in_rows,
                                   const element &at)
{
    const td_folded x = {from, {}, s.is_complex, in_rows, false};
    return td_folded_load(x, td_folded_member(x, at.member), at.row, at.col);
}

/* ---- terms ---- */

/* The line of a factor that counts for the element, in the place of the kept one. */
TD_DEVICE int64_t kept_line(const td_sample &s, const element &at)
{
    const int64_t line = s.kept == 0 ? at.row : at.col, lines = s.kept == 0 ? s.m : s.n;
    return takes_all(s) ? at.member * lines + line : at.place;
}

/* Element (row, col) of the joined factor op(A) or op(B), as it is stored now. */
TD_DEVICE_CALL td_term load_stored(const td_sample &s, int which, int64_t member, int64_t row,
                                   int64_t col)
{
    const int64_t terms = s.k / s.joined;
    int64_t &l = which ? row : col;
    const td_folded &x = s.factor[which][l >= terms];
    if (l >= terms) l -= terms;
    return td_folded_load(x, td_folded_member(x, member), row, col);
}

/* Term l of row `line` of op(A), or of column `line` of op(B). */
TD_DEVICE td_term load_term(const td_sample &s, int which, const element &at, int64_t line,
                            int64_t l)
{
    if (which == s.kept) {
        const int64_t i = kept_line(s, at) * s.k + l;
        return s.is_complex ? reinterpret_cast<const td_term *>(s.lines)[i]
                            : td_term_of(s.lines[i], 0.0);
    }
    return which ? load_stored(s, 1, at.member, l, line) : load_stored(s, 0, at.member, line, l);
}

/* A term of the element, or of its mirror image. */
struct term_pair {
    td_term a, b;
    bool takes_part; /* false where one is a zero beside a triangle */
};

TD_DEVICE_CALL term_pair load_pair(const td_sample &s, const element &at, bool is_mirror, int64_t l)
{
    const int64_t row = is_mirror ? at.col : at.row, col = is_mirror ? at.row : at.col;
    term_pair r;
    r.a = load_term(s, 0, at, row, l);
    r.b = load_term(s, 1, at, col, l);
    r.takes_part = !td_is_beside(s.factor[0][0], row, l) && !td_is_beside(s.factor[1][0], l, col);
    return r;
}

/* True if terms are real numbers that are stored in full. */
TD_DEVICE bool is_plain(const td_sample &s)
{
    return !s.is_complex && s.joined == 1 && s.kept < 0 && !s.is_solve &&
           s.factor[0][0].form.storage == TD_STORED_FULL &&
           s.factor[1][0].form.storage == TD_STORED_FULL;
}

/* The elements of a line that is stored in full: number l is at start + l * step. */
struct plain_line {
    const double *start;
    int64_t step;
};

TD_DEVICE plain_line plain_line_of(const td_sample &s, int which, const element &at)
{
    const td_folded &x = s.factor[which][0];
    const double *const data = td_member<const double>(x.matrix, at.member);
    const int64_t row = which ? 0 : at.row, col = which ? at.col : 0,
                  at_0 = td_folded_at(x, row, col);
    plain_line r;
    r.start = data + at_0;
    r.step = td_folded_at(x, row + (which != 0), col + (which == 0)) - at_0;
    return r;
}

/* The numbers that make real product number `which` of those that a term's two complex numbers
 * have in a part of their product: in its real part, part 0, or in its imaginary part, part 1. */
struct factors {
    double a, b;
};

TD_DEVICE factors factors_of(const term_pair &t, int part, int which, bool is_negative)
{
    const double a = which ? t.a.im : t.a.re;
    const bool takes_im = part != which, is_minus = (which && !part) != is_negative;
    factors r;
    r.a = is_minus ? -a : a;
    r.b = takes_im ? t.b.im : t.b.re;
    return r;
}

/* Calls work(a, b, takes_part) for the thread's real products of sum number `sum`, where matrices
 * are stored in some form. A complex term has two real products, its mirror image two more. */
template <class function>
TD_DEVICE void each_folded(const td_sample &s, const element &at, int sum, function work)
{
    const int part = at.part ^ sum, products = !s.is_complex ? 1 : s.adds_mirror ? 4 : 2;
    TD_ROLLED
    for (int64_t l = at.first + threadIdx.x; l < at.end; l += THREADS) {
        if (l == at.left_out) continue;
        term_pair t = load_pair(s, at, false, l);
        TD_ROLLED
        for (int i = 0; i < products; i++) {
            if (i == 2) t = load_pair(s, at, true, l);
            const factors x = s.is_complex ? factors_of(t, part, i & 1, i >= 2 && at.part != 0)
                                           : factors{t.a.re, t.b.re};
            work(x.a, x.b, t.takes_part);
        }
    }
}

/* Does what each_folded does, for matrices that are stored in any form. Terms of matrices that are
 * stored in full are loaded AHEAD steps before their use. */
template <class function>
TD_DEVICE void each_product(const td_sample &s, const element &at, int sum, function work)
{
    enum { AHEAD = 4 };
    if (!is_plain(s)) {
        each_folded(s, at, sum, work);
        return;
    }
    const plain_line a = plain_line_of(s, 0, at), b = plain_line_of(s, 1, at);
    const auto load = [&](int64_t l) {
        return l < at.end ? factors{a.start[l * a.step], b.start[l * b.step]} : factors{0.0, 0.0};
    };
    const int64_t own = at.first + threadIdx.x;
    factors next[AHEAD];
    TD_UNROLL
    for (int i = 0; i < AHEAD; i++) next[i] = load(own + i * THREADS);
    TD_ROLLED
    for (int64_t l = own; l < at.end; l += THREADS) {
        const factors x = next[0];
        TD_UNROLL
        for (int i = 1; i < AHEAD; i++) next[i - 1] = next[i];
        next[AHEAD - 1] = load(l + AHEAD * THREADS);
        work(x.a, x.b, true);
    }
}

/* ---- what products are combined with ---- */

TD_DEVICE double part_of(td_term x, int part) { return part ? x.im : x.re; }

/* The numbers by which the parts of x, its own and the other, make a part of y x. */
TD_DEVICE void set_multipliers(td_term y, int part, double *by)
{
    by[0] = y.re;
    by[1] = part ? y.im : -y.im;
}

TD_DEVICE bool is_zero(td_term x) { return x.re == 0.0 && x.im == 0.0; }

/* The scalar that multiplies what there was before the call. */
TD_DEVICE td_term multiplier_of_old(const td_sample &s)
{
    const bool is_real = !s.is_complex;
    return s.is_solve ? td_complex_scalar(s.alpha, is_real || s.alpha_is_real)
                      : td_complex_scalar(s.beta, is_real || s.beta_is_real);
}

/* The element's number before the call; 0 where nothing was kept. The diagonal of a Hermitian
 * matrix is real. */
TD_DEVICE td_term load_before(const td_sample &s, const element &at)
{
    if (!s.before || (at.beta[0] == 0.0 && at.beta[1] == 0.0)) return td_term_of(0.0, 0.0);
    const double *const kept = s.before + at.place * parts_of(s);
    const bool is_real = !s.is_complex || (s.has_real_diagonal && at.row == at.col);
    return td_term_of(kept[0], is_real ? 0.0 : kept[1]);
}

/* True if alpha and beta take part with both of their parts. */
TD_DEVICE bool has_scalars(const td_sample &s, td_term alpha, td_term beta)
{
    return s.is_complex && !s.is_solve && (s.is_native || td_makes_t(s.adds_mirror, alpha, beta));
}

/* True of the imaginary part on a diagonal that is real. */
TD_DEVICE bool is_nought(const td_sample &s, const element &at)
{
    return s.has_real_diagonal && at.part && at.row == at.col;
}

/* Nothing is added up. What cuBLAS makes of such a part is not known, nor what becomes of it where
 * no product is. */
TD_DEVICE void set_nought(const td_sample &s, element *at)
{
    if (s.is_native || s.k == 0 || is_zero(at->alpha_of_call)) at->after = 0.0;
    at->by[0] = at->by[1] = at->beta[0] = at->beta[1] = 0.0;
    at->has_scalars = false;
    at->sums = 1;
    at->k = 0;
}

TD_DEVICE void set_product(const td_sample &s, element *at)
{
    set_multipliers(at->alpha_of_call, at->part, at->by);
    set_multipliers(at->beta_of_call, at->part, at->beta);
    at->has_scalars = has_scalars(s, at->alpha_of_call, at->beta_of_call);
    at->sums = at->has_scalars ? 2 : 1;
    at->k = is_zero(at->alpha_of_call) ? 0 : s.k; /* with alpha = 0 nobody reads A and B */
}

/* Where LU factors have a row of A; the row itself where pivots are no rows. */
TD_DEVICE int64_t row_in_factors(const td_sample &s, int64_t row)
{
    const int64_t *const wide = static_cast<const int64_t *>(s.pivots);
    const int *const narrow = static_cast<const int *>(s.pivots);
    int64_t at = row;
    TD_ROLLED
    for (int64_t l = 0; s.pivots && l < s.exchanges; l++) {
        const int64_t other = (s.has_wide_pivots ? wide[l] : (int64_t)narrow[l]) - 1;
        at = at == l ? other : at == other ? l : at;
    }
    return at >= 0 && at < s.m ? at : row;
}

TD_DEVICE double size_of_number(td_term x) { return td_add64(fabs(x.re), fabs(x.im)); }

/* L U - P A is to be 0. The element in the smaller of its row and its column on the diagonal of the
 * second factor is what the one in its place in a factor was divided by, if it was. */
TD_DEVICE void set_factored(const td_sample &s, element *at)
{
    const int64_t own = min(at->row, at->col);
    set_multipliers(td_term_of(1.0, 0.0), at->part, at->by);
    set_multipliers(td_term_of(-1.0, -0.0), at->part, at->beta);
    at->has_scalars = false;
    at->sums = s.is_complex ? 2 : 1;
    at->diagonal = size_of_number(load_stored(s, 1, at->member, own, own));
    at->k = s.k;
    at->after = 0.0;
}

/* op(A) X - alpha B is to be 0; where alpha is 0, X itself, as nobody reads A and B then. An X that
 * is not finite is judged by what it follows from. */
TD_DEVICE void set_residual(const td_sample &s, td_term x, element *at)
{
    const bool is_left = s.factor[0][0].form.storage == TD_STORED_TRIANGULAR;
    const int64_t own = is_left ? at->row : at->col;
    const td_term alpha = at->alpha_of_call;
    set_multipliers(td_term_of(1.0, 0.0), at->part, at->by);
    set_multipliers(td_term_of(-alpha.re, -alpha.im), at->part, at->beta);
    at->has_scalars = false;
    at->sums = s.is_complex ? 2 : 1;
    at->diagonal = 1.0;
    at->k = 0;
    if (is_zero(alpha)) return;
    at->diagonal = size_of_number(load_stored(s, !is_left, at->member, own, own));
    at->k = s.k;
    const double nought = td_sub64(td_sub64(x.re, x.re), td_sub64(x.im, x.im));
    at->after = nought; /* or NaN */
    at->left_out = nought == 0.0 ? -1 : own;
}

/* What the call was told, and what it made of the real number at r's place. */
TD_DEVICE_LARGE element load_element(const td_sample &s, element r)
{
    if (s.is_factored) r.row = s.rows[r.place];
    const td_term number = load_number(s, s.c, s.c_in_rows, r), none = td_term_of(0.0, 0.0);
    r.alpha_of_call = td_complex_scalar(s.alpha, !s.is_complex || s.alpha_is_real);
    r.beta_of_call = s.before && !s.is_solve ? multiplier_of_old(s) : none;
    r.found = r.after = part_of(number, r.part);
    r.left_out = -1;
    if (is_nought(s, r))
        set_nought(s, &r);
    else if (s.is_factored)
        set_factored(s, &r);
    else if (s.is_solve)
        set_residual(s, number, &r);
    else
        set_product(s, &r);
    const td_term before = load_before(s, r);
    const bool has_one_part = r.sums == 1 || (s.is_solve ? s.alpha_is_real : s.beta_is_real);
    r.before[0] = part_of(before, r.part);
    r.before[1] = has_one_part ? 0.0 : part_of(before, !r.part);
    r.first = 0;
    r.end = r.k;
    return r;
}

#endif
