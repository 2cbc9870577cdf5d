/* qr.h - QR factorisation of a panel of columns, real or complex, as reflectors: leaves of columns
 * by one cluster of thread blocks, of sm_90 and later, or by one block on the host device, and what
 * they do to the panel's other columns by the whole device. For host C. Every sum has one order,
 * which depends on the panel's rows alone, so that bits are the same on every device.
 *
 * H = I - tau v v' with v = 1 on the diagonal and 0 above it, R's diagonal, which is real, and tau
 * are as LAPACK's dlarfg and dgeqrf, zlarfg and zgeqrf have them; the panel's product of reflectors
 * is I - V T V' with an upper triangle T (Schreiber and Van Loan, 1989; LAPACK's dlarft). Of
 * complex matrices ' is the conjugate transpose. */
#ifndef TD_FACTOR_QR_H
#define TD_FACTOR_QR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most columns of a panel, of which complex ones count twice; and most rows. */
enum { TD_QR_COLUMNS = 256, TD_QR_ROWS = 32768 };

/* A panel: the rows from its diagonal on of some columns of binary64 or complex binary64, rows >=
 * columns. `work` has what the panel leaves, `shared_work` may be the next panel's as soon as this
 * one is done. */
typedef struct {
    bool is_complex;
    void *a;
    int64_t ld, rows;
    int columns;
    void *tau; /* the panel's */
    void *work, *shared_work;
} td_qr_panel;

/* Bytes of `work`, for V and T, and of `shared_work`, for panels of so many rows. */
size_t td_qr_work_bytes(int64_t rows, bool is_complex);
size_t td_qr_shared_work_bytes(int64_t rows, bool is_complex);

/* V of a panel, rows x columns with zeros above its unit diagonal and leading dimension
 * td_qr_ld(panel); and T, columns x columns with zeros below its diagonal and leading dimension
 * TD_QR_COLUMNS. Complex ones are embedded in real matrices of these leading dimensions, of twice
 * as many rows and columns: a complex element is there as
 *
 *     [re -im]
 *     [im  re]
 *
 * so that V and T themselves have the same leading dimensions, in complex elements. */
double *td_qr_v(const td_qr_panel *panel);
double *td_qr_t(const td_qr_panel *panel);
int64_t td_qr_ld(const td_qr_panel *panel);

/* Room for V'V of the real matrix, of leading dimension TD_QR_COLUMNS. */
double *td_qr_products(const td_qr_panel *panel);

/* Columns of a leaf of the panel. */
int td_qr_leaf(const td_qr_panel *panel);

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
cudaError_t td_qr_unit_run(bool is_complex, void *a, int64_t ld, int64_t rows, int64_t columns,
                           int64_t below, cudaStream_t stream);

/* The last step of these: T's rows above a leaf of QR_MOST_LEAF real columns. */
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
