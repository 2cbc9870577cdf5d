/* folded.h - how kernels read an element of a matrix as its form says. */
#ifndef TD_FOLDED_H
#define TD_FOLDED_H

#include "../view/access.h"
#include "unfold.h"

/* A number as a kernel has it: complex, of which a real one has im = 0. */
typedef td_complex_binary64 td_term;

TD_DEVICE td_term td_term_of(double re, double im)
{
    td_term t;
    t.re = re;
    t.im = im;
    return t;
}

TD_DEVICE td_term td_conjugate(td_term t) { return td_term_of(t.re, -t.im); }

/* Element (row, column) as it is stored; `data` is the batch member's first element. */
TD_DEVICE td_term td_stored(const td_folded &x, const void *data, int64_t row, int64_t column)
{
    const int64_t at = row + column * x.matrix.ld;
    return x.is_complex ? static_cast<const td_term *>(data)[at]
                        : td_term_of(static_cast<const double *>(data)[at], 0.0);
}

/* True if (row, column) is of the other triangle than the one that is stored. */
TD_DEVICE bool td_is_mirrored(const td_form &form, int64_t row, int64_t column)
{
    return form.storage != TD_STORED_FULL &&
           (form.triangle == TD_LOWER ? row < column : row > column);
}

/* Where element (row, column) of op(X) is, from the batch member's first one, of an X that is
 * stored in full. */
TD_DEVICE int64_t td_folded_at(const td_folded &x, int64_t row, int64_t column)
{
    return x.is_transposed ? column + row * x.matrix.ld : row + column * x.matrix.ld;
}

/* True if element (row, column) of op(X) is one of the zeros beside a triangle. */
TD_DEVICE bool td_is_beside(const td_folded &x, int64_t row, int64_t column)
{
    if (x.form.storage != TD_STORED_TRIANGULAR) return false;
    return x.is_transposed ? td_is_mirrored(x.form, column, row)
                           : td_is_mirrored(x.form, row, column);
}

/* Element (row, column) of X. */
TD_DEVICE td_term td_folded_x(const td_folded &x, const void *data, int64_t row, int64_t column)
{
    const td_form &form = x.form;
    const bool is_mirrored = td_is_mirrored(form, row, column), is_diagonal = row == column;
    if (form.storage == TD_STORED_FULL) return td_stored(x, data, row, column);
    if (form.storage == TD_STORED_TRIANGULAR) {
        if (is_mirrored) return td_term_of(0.0, 0.0);
        if (is_diagonal && form.is_unit) return td_term_of(1.0, 0.0);
        return td_stored(x, data, row, column);
    }
    const td_term t =
        is_mirrored ? td_stored(x, data, column, row) : td_stored(x, data, row, column);
    if (!form.is_hermitian) return t;
    return is_diagonal ? td_term_of(t.re, 0.0) : is_mirrored ? td_conjugate(t) : t;
}

/* Element (row, column) of op(X). */
TD_DEVICE td_term td_folded_load(const td_folded &x, const void *data, int64_t row, int64_t column)
{
    const td_term t =
        x.is_transposed ? td_folded_x(x, data, column, row) : td_folded_x(x, data, row, column);
    return x.is_conjugate ? td_conjugate(t) : t;
}

/* First element of a batch member. */
TD_DEVICE const void *td_folded_member(const td_folded &x, int64_t member)
{
    return x.is_complex ? static_cast<const void *>(td_member<td_term>(x.matrix, member))
                        : static_cast<const void *>(td_member<double>(x.matrix, member));
}

/* A scalar of a complex product. */
TD_DEVICE td_term td_complex_scalar(const td_scalar &s, bool is_real)
{
    return is_real ? td_term_of(td_scalar_value(s), 0.0) : td_scalar_value<td_term>(s);
}

/* True if a complex product is made without its scalars, which are multiplied to it afterwards
 * (scalars.h): they have imaginary parts, or its mirror image is added. */
TD_DEVICE bool td_makes_t(bool adds_mirror, td_term alpha, td_term beta)
{
    return adds_mirror || alpha.im != 0.0 || beta.im != 0.0;
}

#endif
