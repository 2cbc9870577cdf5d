/* scheme.h - the ways of the Ozaki family to make X from fixed-point operands: what
 * lib/engines/ozaki/stages.c needs of each. */
#ifndef TD_SCHEME_H
#define TD_SCHEME_H

#include "../../../kernels/arithmetic/logarithm.h"
#include "../../../kernels/crt/crt.h"
#include "../../../kernels/select/fixed.h"
#include "../../../kernels/select/select.h"
#include "../../../kernels/slice/slices.h"
#include "../engine.h"
#include "../../routine/parts.h"
#include "panels.h"
#include "../../model/route.h"

typedef struct td_scheme td_scheme;

/* A product as a scheme's functions are asked of it: their row, and elements of k of a line; and
 * rows and columns of all of C, for what the data choose alone. */
typedef struct {
    const td_scheme *scheme;
    td_parameter parameter;
    int64_t k, m, n;
} td_scheme_case;

/* A part of a product, small enough for the workspace: all of k, in passes of at most k_pass. */
typedef struct {
    const td_scheme *scheme;
    td_device *device;
    td_parameter parameter;
    td_fixed fixed; /* k_first and k_count are the scheme's to set */
    td_finish finish;

    /* Of a strip: columns of the part that has been split, and the strip's first one, a multiple of
     * TD_TILE. 0: it is a part. */
    int64_t split_columns, first_column;
    td_wanted_tiles wanted; /* residues: tiles of C that are */
    td_route_terms terms;
    int64_t k_pass;    /* a multiple of TD_K_PAD */
    char *workspace;   /* of scheme->bytes(), 256-byte aligned */
    uint32_t *nonzero; /* of scheme->map_words(), zeros before; NULL: none */
    void *cublas_workspace;
    size_t cublas_bytes;
    uint32_t *next_unit; /* of td_panels, and next_tile of td_residues */
    cudaStream_t stream;
} td_scheme_part;

/* True if the kernels can count a product's lines and elements of k. */
bool td_scheme_takes(const td_real_product *p);

/* The largest parts; most_k elements of k are what one pass can take. */
td_part_sizes td_scheme_largest(const td_real_product *p, int64_t most_k);

/* td_shrink with the passes of all schemes. */
bool td_scheme_shrink(td_part_sizes *sizes);

/* Calls pass(part, layout) for one pass over k after the other; part->fixed says which. */
cudaError_t td_scheme_passes(const td_scheme_part *whole, const void *layout,
                             cudaError_t (*pass)(const td_scheme_part *part, const void *layout));

/* A scheme: a row, which its functions find in the case or the part that they are given. */
struct td_scheme {
    bool needs_cublas;
    td_digit_type digits; /* of a scheme of slices */
    bool has_moduli;      /* td_parameter.count counts these: td_moduli_of says how many */

    /* Lines of products that are to be exact know how many elements their scale rounds
     * (../../../kernels/measure/line.h). */
    bool counts_rounded;

    /* Loads the scheme's own kernels on the current device. */
    cudaError_t (*prepare)(const td_scheme *scheme);

    /* The most elements of k that one pass can take. */
    int64_t (*most_k)(const td_scheme_case *c);

    /* Workspace of a part of m x n elements and `batch` members, k_pass elements of k at a time. */
    size_t (*bytes)(const td_scheme_case *c, int64_t m, int64_t n, int64_t k_pass, int64_t batch);

    /* Words of 32 bits for td_scheme_part.nonzero of such parts. NULL: none. */
    int64_t (*map_words)(const td_scheme_case *c, const td_part_sizes *sizes);

    /* What X is of A' B'. NULL: all. */
    td_cut (*cut)(const td_scheme_case *c);

    /* Sets how lines are scaled, and what is certified, in a rule of zeros. */
    void (*choose)(const td_scheme_case *c, td_rule *rule);

    /* Enqueues the way from the operands of a part of one pass to the numbers of which strips of it
     * are multiplied one after another. NULL: there are no strips. */
    cudaError_t (*split)(const td_scheme_part *part);

    /* Enqueue the way from the operands to exact sums in the workspace, and from there to C and the
     * masks. Operands of a strip have been split. */
    cudaError_t (*multiply)(const td_scheme_part *part);
    cudaError_t (*finish)(const td_scheme_part *part);
};

/* td_choice.need of modes that certify their elements: errors of at most 4 sqrt(k) 2^-53 times
 * abs(A')abs(B'), which is at least k times the product of the means. Errors of many terms of like
 * size average out to less than binary64's. */
static inline int32_t td_scheme_need(int64_t k)
{
    return 51 * TD_LOG - (3 * td_log_below((uint64_t)k) >> 1);
}

/* td_choice.need_of_estimate: what errors as large as td_scheme_need allows need beside the least
 * that abs(A')abs(B') can be (../../../kernels/select/estimate.h). */
static inline int32_t td_scheme_need_of_estimate(int64_t k)
{
    return 51 * TD_LOG - (td_log_below((uint64_t)k) >> 1);
}

/* Residues, of C's part: of one that has been multiplied. */
td_residue_product td_scheme_residue_product(const td_scheme_part *part);

extern const td_scheme td_scheme_residues, td_scheme_int8_slices, td_scheme_float_slices,
    td_scheme_double_slices;

#endif
