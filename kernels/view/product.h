/* product.h - operands, result and repair of a product as kernels of every engine know them, for host C and for kernels. */
#ifndef TD_VIEW_PRODUCT_H
#define TD_VIEW_PRODUCT_H

#include <cuda_runtime_api.h>

#include "../measure/line.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of all pairs of lines, binary64 has for sums of some no room, or room if their elements are scaled (../repair/binary64.h), or as they
 * are. */
typedef enum { TD_ROOM_FOR_SOME, TD_ROOM_IF_SCALED, TD_ROOM } td_room;

/* A tile is TD_TILE x TD_TILE elements of C; a strip is TD_TILE lines, a line being a row of op(A) or a column of op(B). */
enum { TD_TILE = 64, TD_SUBTILE = 4, TD_SUBTILES = TD_TILE / TD_SUBTILE * (TD_TILE / TD_SUBTILE) };

/* Part of op(A) or op(B), by lines: element l of line i of a batch member is at the member's first element plus
 * offset + i * line_step + l * k_step. */
typedef struct {
    td_matrix matrix;
    int64_t offset, line_step, k_step; /* in elements; one of the steps is 1 */
    int64_t k;                         /* elements of a line */
    int lines;
} td_operand;

/* Part of C. */
typedef struct {
    td_matrix c;
    int64_t c_offset;    /* of the part, in elements */
    int m, n;            /* size of the part */
    int64_t batch_first; /* batch member of blockIdx.z == 0 */
    td_scalar alpha, beta;

    /* Elements of C that the engine left to the repair kernel: bit 4 j + i for element (i, j) of a subtile of 4 x 4.
     * [batch][tile, by columns][TD_SUBTILES, by columns]; the engine writes every subtile that has elements, of tiles of which one was
     * left, if these are listed. */
    uint16_t *masks;

    /* Tiles of which an element was left, in any order: [batch][TD_OPEN_COUNTS] how many, of few and of many elements, how many
     * of these were taken up, how many of their elements count as exact sums (td_list_tile), and a td_room: if it is not 0 all elements
     * are left to binary64, whose room it tells, and there are neither masks nor a list; and [batch][tile] which: those from the first on,
     * these, the dense ones, from the last back. NULL: any tile may have one. */
    int32_t *open_count, *open_tile;
    uint8_t *is_dense; /* [batch][tile]; NULL: not recorded */
} td_target;

/* Exponents of a line: floor(log2) of its largest and of its smallest nonzero element. A line of zeros has 0, 0.
 * top is TD_RANGE_SPECIAL if the line holds a NaN or an infinity. */
typedef struct {
    int16_t top, bottom;
} td_range;
enum { TD_RANGE_SPECIAL = 0x7fff };

/* The ranges of all lines of both operands, in parts: partial[which][batch][chunk][padded line]. */
typedef struct {
    td_operand operand[2];
    td_range *partial[2];
    int chunks;    /* 1 .. TD_MAX_CHUNKS parts of a line ... */
    int64_t chunk; /* ... of this many elements */
    int64_t batch_first;
    td_scalar alpha; /* nothing is read if it is 0 */
} td_scan;
enum { TD_MAX_CHUNKS = 32 };
cudaError_t td_scan_run(const td_scan *scan, int batch, cudaStream_t stream);

/* How elements of C are recomputed. TD_REPAIR_EXACT: as the exact result rounded once, +0 for an
 * exact 0, where operands and scalars are finite; in dense tiles (td_target), and where they are
 * not, as sums in binary64 (../repair/binary64.h). TD_REPAIR_BINARY64: as sums in binary64; but as the
 * exact result where operands and scalars are finite and such a sum could overflow, or lose
 * accuracy because a product or beta C is below 2^-1022. */
typedef enum { TD_REPAIR_BINARY64, TD_REPAIR_EXACT } td_repair_kind;

/* Elements of a tile that are worth exact sums of their own, instead of binary64: part of the modes' definition. Instead of a second
 * exact product (../ozaki/dense.h) they change no bit. */
enum { TD_FEW = 8, TD_OPEN_COUNTS = 5 };

/* The masked elements of C from the operands. Those that are made exactly are taken out of the
 * masks. */
typedef struct {
    td_operand operand[2];
    td_target target;
    td_repair_kind kind;
    const td_range *range[2];     /* of all lines, [batch][padded lines], for TD_REPAIR_BINARY64 */
    int takes_dense;              /* exact sums are for dense tiles, too */
    unsigned long long *repaired; /* counts elements; NULL: not counted */

    /* td_binary64_run alone: every element of C is made, and there are no masks. Lines are not known then. */
    int makes_all;

    /* What is known of the lines, and the shifts along k that are in it ([batch][k], and whether they are: [batch]). The first line
     * of member z is line[o] + z * lines_of_member[o]. line[0] is NULL if nothing is known. */
    const td_line *line[2];
    int64_t lines_of_member[2];
    const int16_t *shift;
    const int32_t *shifted;
} td_repair;
cudaError_t td_repair_run(const td_repair *repair, int batch, cudaStream_t stream);

/* Its parts: exact sums of rows and columns whose bits span little, then of any; and what these leave. */
cudaError_t td_exact_narrow_run(const td_repair *repair, int batch, cudaStream_t stream);
cudaError_t td_exact_wide_run(const td_repair *repair, int batch, cudaStream_t stream);
cudaError_t td_binary64_run(const td_repair *repair, int batch, cudaStream_t stream);

/* C <- beta C, for products with alpha = 0 or k = 0; 0 if beta is 0, without reading C. */
cudaError_t td_scale_run(const td_target *target, int batch, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_scan_prepare(void);
cudaError_t td_repair_prepare(void);
cudaError_t td_exact_narrow_prepare(void); /* these three are part of td_repair_prepare */
cudaError_t td_exact_wide_prepare(void);
cudaError_t td_binary64_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
