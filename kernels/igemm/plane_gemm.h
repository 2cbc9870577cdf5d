/* plane_gemm.h - products of panels of small numbers, and those that kernels of Tandem's own make:
 * products of residues. cuBLAS is another way to make one (lib/engines/ozaki/panels.h). */
#ifndef TD_PLANE_GEMM_H
#define TD_PLANE_GEMM_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "../arithmetic/float32.h"
#include "../routes.h"
#include "../select/choice.h"
#include "../view/planes.h"
#include "../view/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of A and B, and of C: int8 and int32, modulo 2^32; float and float, IEEE's, never a
 * shorter type, but the sums are in an order of the row's choice; int8 and a byte of the sum's
 * residue; int8 and the sum's logarithm: 0 for 0, else 1 + 8 e + f for the sum's leading bits 2^e
 * (1 + f / 8), no sum being negative. */
typedef enum { TD_PANEL_INT8, TD_PANEL_FLOAT, TD_PANEL_RESIDUE, TD_PANEL_LOGARITHM } td_panel_type;

/* Which tiles of TD_TILE x TD_TILE elements of C are wanted: [batch][column][ld] of 0 and 1; of is
 * NULL if all are. C's other elements may hold anything. */
typedef struct {
    const uint8_t *of;
    int64_t ld, batch_step;
} td_wanted_tiles;

/* Distances in memory, in elements: of the lines of A and B and the columns of C, from one plane to
 * the next, and from one member to the next. */
typedef struct {
    int64_t ld_a, ld_b, ld_c;
    int64_t plane_a, plane_b, plane_c;
    int64_t member_a, member_b, member_c;
} td_panel_layout;

/* Device memory that is cuBLAS's until a product is done, 256-byte aligned. Without enough of it
 * cuBLAS takes slower ways, or, below TD_CUBLAS_LEAST_WORKSPACE, may find none; it never takes
 * memory of another stream. Tandem's own kernels need none. */
typedef struct {
    void *memory;
    size_t bytes;
} td_panel_workspace;

/* A product to be made: C = A B^T for each plane of each member of a batch. A is m lines, B is n
 * lines, elements of k next to each other; C is m x n, column-major. Sizes and leading dimensions
 * are below 2^31; all count elements, not bytes. Tensor cores take int8 panels of which leading
 * dimensions and distances are multiples of 16, k is one of TD_K_PAD, and pointers of 256 bytes;
 * cuBLAS's also want m and n to be multiples of 16. */
typedef struct {
    td_panel_type type;
    td_gemm_route gemm; /* who multiplies; one that serves such panels on the current device */
    int64_t m, n, k;
    const void *a, *b; /* [m][layout.ld_a], [n][layout.ld_b] */
    void *c;           /* [n][layout.ld_c] */
    td_panel_layout layout;
    int planes, batch;
    bool accumulate; /* C += A B^T; else C need not hold numbers */

    /* TD_PANEL_RESIDUE. Plane t belongs to modulus t (../residue/moduli.h), and is wanted if
     * t < choice.parameter of its member; if is_complex, planes 2t and 2t + 1 belong to modulus t
     * of TD_COMPLEX_MODULI. Line i of C is line td_place_of_line(i) of A; m and
     * layout.ld_c are multiples of TD_LINE_GROUP. C's numbers are residues within 5 p / 8 of 0;
     * elements of k are at most TD_RESIDUE_K, and cut into so many slices with a C of their own.
     * TD_PANEL_LOGARITHM is laid out as these are, in one slice, does not accumulate, and is wanted
     * if td_wants_estimate(choice). */
    bool is_complex;
    const td_choice *choice; /* [batch] */
    bool leaves_fused;       /* members that are td_is_fused have been made, and are not wanted */
    int slices;
    int64_t slice_c; /* from one slice's C to the next */
    td_wanted_tiles wanted;
    td_region region;    /* of C: products of tiles that it does not meet are passed over */
    uint32_t *next_unit; /* 0 before, and after: what blocks count by that share out the work */

    /* What of A and B is not 0 in any plane: a bit for each TD_SLICE_K elements of k of
     * TD_LINE_GROUP lines, [batch][group of lines][word of 32 bits], set where a number may be.
     * Where it is 0 of either, products are passed over. NULL: numbers may be anywhere. */
    const uint32_t *nonzero[2];

    td_panel_workspace workspace;
} td_panels;

/* Planes of a member that are wanted; on the device. */
TD_BOTH int td_planes_wanted(const td_panels *p, int member)
{
    const td_choice *choice = &p->choice[member];
    if (p->type == TD_PANEL_LOGARITHM) return td_wants_estimate(choice) ? p->planes : 0;
    if (p->leaves_fused && td_is_fused(choice)) return 0;
    return p->is_complex ? 2 * choice->parameter : choice->parameter;
}

/* True if tiles of C are passed over: those outside a region, or those that are not wanted. */
TD_BOTH bool td_leaves_tiles(const td_panels *p)
{
    return p->wanted.of != NULL || p->region.kind != TD_REGION_ALL;
}

/* True if any of the tiles of rows x columns elements of C from (row, column) on is wanted; on the
 * device. */
TD_BOTH bool td_has_wanted(const td_panels *p, int member, int64_t row, int64_t column, int rows,
                           int columns)
{
    const td_wanted_tiles *w = &p->wanted;
    unsigned any = 0;
    if (!td_region_meets(&p->region, row, column, rows, columns)) return false;
    if (!w->of) return true;
    for (int64_t j = column; j < column + columns && j < p->n; j += TD_TILE)
        for (int64_t i = row; i < row + rows && i < p->m; i += TD_TILE)
            any |= w->of[member * w->batch_step + j / TD_TILE * w->ld + i / TD_TILE];
    return any != 0;
}

/* The multiple of TD_SLICE_K that `slice` of p->slices begins with: a slice ends where the next
 * begins. */
TD_BOTH int td_first_of_slice(const td_panels *p, int slice)
{
    const int all = ((int)p->k + TD_SLICE_K - 1) / TD_SLICE_K * slice;
    return p->slices == 1 ? all : all / p->slices;
}

/* Enqueue panels whose `gemm` is one of TD_GEMM_MMA_..., and of TD_GEMM_WGMMA_...: the latter where
 * the current device has such instructions and there is code for them, else td_wgmma_exists is
 * false. */
cudaError_t td_mma_run(const td_panels *panels, cudaStream_t stream);
cudaError_t td_wgmma_run(const td_panels *panels, cudaStream_t stream);
bool td_wgmma_exists(void);

/* Loads the kernels on the current device: once, before the first launch. */
cudaError_t td_mma_prepare(void);
cudaError_t td_wgmma_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
