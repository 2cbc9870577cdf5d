/* repair.h - elements of C that an engine left out, made from the original operands; and C of
 * products that need no operands. For host C. */
#ifndef TD_REPAIR_H
#define TD_REPAIR_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "../measure/line.h"
#include "../measure/scan.h"
#include "../routes.h"
#include "../view/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How elements of C are recomputed. TD_REPAIR_EXACT: as the exact result rounded once, +0 for an
 * exact 0, where operands and scalars are finite; in dense tiles (td_target), of lines that exact
 * sums are not for (td_repair), and where they are not finite, as sums in binary64 (binary64.h).
 * TD_REPAIR_BINARY64: as sums in binary64; but as the exact result where operands and scalars are
 * finite and such a sum could overflow, or lose accuracy because a product or beta C is below
 * 2^-1022. */
typedef enum { TD_REPAIR_BINARY64, TD_REPAIR_EXACT } td_repair_kind;

/* The open tiles that a launch of sums in binary64 is for: all; those of few masked elements; or
 * the dense ones, and members of which binary64 makes every element. */
typedef enum { TD_OPEN_ALL, TD_OPEN_FEW, TD_OPEN_DENSE } td_open_tiles;

/* Where copies of operands are made whose elements cannot be copied in boxes as they are: of all
 * lines of all members, rows of memory being multiples of 16 bytes apart. Sums in binary64 of dense
 * tiles and of whole members are made from them. An operand that needs no copy has itself for
 * one. */
typedef struct {
    bool is_made; /* false: all sums are made from the operands */
    td_view of[2];
    td_binary64_launch binary64; /* one that serves for the copies */
} td_aligned_lines;

/* The masked elements of C from the operands. Those that are made exactly are taken out of the
 * masks. */
typedef struct {
    td_view operand[2];
    td_target target;
    td_repair_kind kind;
    const td_range *range[2];     /* of all lines, [batch][padded lines], for TD_REPAIR_BINARY64 */
    td_binary64_launch binary64;  /* one that serves on the current device */
    td_open_tiles open;           /* of td_binary64_run alone */
    td_aligned_lines aligned;     /* of td_repair_run alone */
    int takes_dense;              /* exact sums are for dense tiles, too */
    int is_bounded;               /* exact sums are for narrow lines alone (../measure/room.h) */
    unsigned long long *repaired; /* counts elements; NULL: not counted */
    unsigned long long *tiles;    /* counts tiles that binary64 makes as a whole; or NULL */

    /* Members of which binary64 makes every element as it is (TD_ROOM) are there already. They
     * count as if they were made here. */
    int has_whole;

    /* td_binary64_run alone: every element of C is made, and there are no masks. Nothing is known
     * of the lines then. */
    int makes_all;

    /* What is known of the lines, and the shifts along k that the records include: [batch][k]; and
     * whether they do: [batch]. The first line of member z is line[o] + z * lines_of_member[o].
     * line[0] is NULL if nothing is known. */
    const td_line *line[2];
    int64_t lines_of_member[2];
    const int16_t *shift;
    const int32_t *shifted;
} td_repair;
cudaError_t td_repair_run(const td_repair *repair, int batch, cudaStream_t stream);

/* The kernels of td_repair_run: exact sums of rows and columns whose bits span little; exact sums
 * of any; and binary64 for the elements that both leave. */
cudaError_t td_exact_narrow_run(const td_repair *repair, int batch, cudaStream_t stream);
cudaError_t td_exact_wide_run(const td_repair *repair, int batch, cudaStream_t stream);
cudaError_t td_binary64_run(const td_repair *repair, int batch, cudaStream_t stream);

/* C <- beta C, for products with alpha = 0 or k = 0; 0 if beta is 0, without reading C. */
cudaError_t td_scale_run(const td_target *target, int batch, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_repair_prepare(void);
cudaError_t td_exact_narrow_prepare(void); /* these three are part of td_repair_prepare */
cudaError_t td_exact_wide_prepare(void);
cudaError_t td_binary64_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
