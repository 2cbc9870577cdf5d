/* qr_order.h - how the sums over a leaf's rows are ordered. Rows count from the leaf's first row:
 *
 *   row = ((block * rows_of_thread + r) * warps + warp) * lanes + lane
 *
 * A lane's sum is a chain of fused multiply-adds over ascending r; sums of lanes, then of warps,
 * then of blocks are halved: the second half of them is added to the first until one is left. A
 * lane holds QR_SLOTS columns of its rows, or half as many complex ones, and neighbouring lanes
 * share rows: column c of a leaf is in slot c / sharing of the c % sharing'th of them. A product of
 * complex numbers is two fused multiply-adds, the real part of its first factor being the first. */
#ifndef TD_QR_ORDER_H
#define TD_QR_ORDER_H

#include <stdint.h>

enum {
    QR_BLOCKS = 16, /* of a cluster, at most */
    QR_SLOTS = 8,
    QR_MOST_LEAF = 32,  /* real columns: a complex one stands for two */
    QR_MOST_WARPS = 16, /* of a block */
    QR_MOST_ROWS = 4,   /* of a lane */
    QR_WIDE_ROWS = 8192,
    QR_MEDIUM_ROWS = 16384
};

/* Neighbouring lanes that share rows, in a panel of so many rows: a leaf has the columns of a lane
 * for each. */
static inline int qr_sharing(int64_t rows)
{
    return rows <= QR_WIDE_ROWS ? 4 : rows <= QR_MEDIUM_ROWS ? 2 : 1;
}

/* How a leaf's rows lie in blocks. */
typedef struct {
    int sharing, warps, rows; /* warps of a block, rows of a lane */
} qr_shape;

/* Rows of a block. */
static inline int qr_rows_of_block(qr_shape shape)
{
    return 32 / shape.sharing * shape.warps * shape.rows;
}

/* The least power of two of rows that each lane of QR_BLOCKS blocks has; if these would be too many
 * blocks have more warps. */
static inline qr_shape qr_shape_of(int64_t rows, int sharing)
{
    qr_shape shape = {sharing, QR_MOST_WARPS / 2, 1};
    while (shape.rows < QR_MOST_ROWS && (int64_t)QR_BLOCKS * qr_rows_of_block(shape) < rows)
        shape.rows *= 2;
    if ((int64_t)QR_BLOCKS * qr_rows_of_block(shape) < rows) shape.warps = QR_MOST_WARPS;
    return shape;
}

#endif
