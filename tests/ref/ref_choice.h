/* ref_choice.h - what the Ozaki family's reference decides before it multiplies:
 * docs/numerics.md. */
#ifndef REF_CHOICE_H
#define REF_CHOICE_H

#include "ref_lines.h"
#include "ref_ozaki.h"

/* Tiles of C, and the elements of one that are worth exact sums. */
enum { REF_TILE = 64, REF_FEW = 8 };

/* A product on its way. */
typedef struct {
    const ref_ozaki *ozaki;
    const ref_gemm *p;
    ref_side side[2];
    int parameter;
    bool is_estimated; /* abs(A)abs(B) is, and decides */
    bool in_binary64;  /* all of C is to be sums in binary64 */
    bool *apart;       /* [tile of columns][of rows], if is_estimated: no block of k has numbers of
                          both groups of lines */
    int *needed;       /* [column][row]: the least parameter that certifies an element */
    bool *is_dense;    /* [column][row]: left, and in a tile of many such elements */
    int8_t *digits[2]; /* [line][slice][k], of int8 slices */

    /* [line][k], if is_estimated: abs(A) and abs(B) in units of their lines. */
    int8_t *magnitude[2];

    /* [line][k], if any element is dense: A and B, with more in their exponents. */
    double *raised[2];
} ref_work;

/* False if a product that is to choose its moduli is left to binary64, by its sizes, where lines do
 * not certify the fewest: then there is no estimate, and there are no shifts. */
bool ref_is_estimated_by_sizes(const ref_work *w);

/* Sets parameter, is_estimated, in_binary64 and, if the data decide, needed. */
void ref_choose(ref_work *w);

/* The exponent of a line's fixed-point elements with so many moduli, or with the slices there
 * are. */
int64_t ref_scale_of(const ref_work *w, int count, const ref_line *r);

/* True if X is exact: no line was rounded, and the slices that are left out are zero. */
bool ref_loses_nothing(const ref_work *w, const ref_line *a, const ref_line *b);

/* True if a line was not rounded. */
bool ref_is_exact_line(const ref_line *r);

#endif
