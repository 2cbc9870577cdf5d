/* qr.h - QR factorisation of a panel of columns as reflectors: leaves of columns by one cluster of
 * thread blocks, of sm_90 and later, or by one block on the host device, and what they do to the
 * panel's other columns by the whole device. For host C. Every sum has one order, which depends on
 * the panel's rows alone, so that bits are the same on every device.
 *
 * H = I - tau v v' with v = 1 on the diagonal and 0 above it, R's diagonal and tau are as LAPACK's
 * dlarfg and dgeqrf have them; the panel's product of reflectors is I - V T V' with an upper
 * triangle T (Schreiber and Van Loan, 1989; LAPACK's dlarft). */
#ifndef TD_FACTOR_QR_H
#define TD_FACTOR_QR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most columns of a panel, which is the leading dimension of T too, and most rows. */
enum { TD_QR_COLUMNS = 256, TD_QR_ROWS = 16384 };

/* A panel: the rows from its diagonal on of some columns of binary64, rows >= columns. What
 * td_qr_work_bytes says is the size of `work` and of `shared_work`; the first has what the panel
 * leaves, the second may be the next panel's as soon as this one is done. */
typedef struct {
    double *a;
    int64_t ld, rows;
    int columns;
    double *tau; /* the panel's */
    void *work, *shared_work;
} td_qr_panel;

/* Bytes of what panels of so many rows leave, V and T, and of what they need meanwhile. */
size_t td_qr_work_bytes(int64_t rows);
size_t td_qr_shared_work_bytes(int64_t rows);

/* V of a panel, rows x columns with zeros above its unit diagonal and leading dimension
 * td_qr_ld(rows), and T, columns x columns with zeros below its diagonal. */
double *td_qr_v(const td_qr_panel *panel);
double *td_qr_t(const td_qr_panel *panel);
int64_t td_qr_ld(int64_t rows);

/* Room for V'V, of T's leading dimension. */
double *td_qr_products(const td_qr_panel *panel);

/* Columns of a leaf of a panel of so many rows. */
int td_qr_leaf(int64_t rows);

/* True if the current device can factor panels of so many rows. */
bool td_qr_fits(int64_t rows);

/* The leaf that begins in column `first`, a multiple of td_qr_leaf: its columns of A become R above
 * and on the diagonal and V below it; its tau, V and part of T are written. */
cudaError_t td_qr_leaf_run(const td_qr_panel *panel, int first, cudaStream_t stream);

/* After a leaf: the panel's columns behind it become (I - V T V')' times what they are, and T gets
 * the rows above the leaf's. */
cudaError_t td_qr_reflect_run(const td_qr_panel *panel, int first, cudaStream_t stream);

/* Of a panel of finished reflectors, writes V again; and T, once V'V is where td_qr_products says,
 * leaf by leaf, as td_qr_leaf_run and td_qr_reflect_run do. */
cudaError_t td_qr_take_run(const td_qr_panel *panel, cudaStream_t stream);
cudaError_t td_qr_triangle_run(const td_qr_panel *panel, cudaStream_t stream);

/* A, rows x columns, becomes 1 where the row's number is the column's and `below`, and 0
 * elsewhere. */
cudaError_t td_qr_unit_run(double *a, int64_t ld, int64_t rows, int64_t columns, int64_t below,
                           cudaStream_t stream);

/* The last step of these: T's rows above a leaf of QR_MOST_LEAF columns. */
cudaError_t td_qr_extend_run(const td_qr_panel *panel, int first, cudaStream_t stream);

/* Loads the kernels on the current device: once, before the first launch. The first calls the
 * others. */
cudaError_t td_qr_prepare(void);
cudaError_t td_qr_prepare_leaves(void);
cudaError_t td_qr_prepare_taking(void);

#ifdef __cplusplus
}
#endif

#endif
