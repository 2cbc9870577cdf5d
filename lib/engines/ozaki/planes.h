/* planes.h - the ways to multiply panels: one table, of which the first row that suits a product runs it. */
#ifndef TD_OZAKI_PLANES_H
#define TD_OZAKI_PLANES_H

#include "cublas.h"

/* A row whose suits() is false makes no such product on the current device. run() enqueues, or returns an error: then C may hold
 * anything. */
typedef struct {
    const char *name;
    bool (*suits)(const td_panels *panels);
    cudaError_t (*run)(td_device *device, const td_panels *panels, cudaStream_t stream);
} td_panel_row;

enum { TD_PANEL_ROWS = 3 };
extern const td_panel_row td_panel_rows[TD_PANEL_ROWS];

/* Loads the rows that are Tandem's own on the current device: once, before the first product. */
cudaError_t td_panels_prepare(void);

/* Enqueues a product on the current device. */
cudaError_t td_panels_run(td_device *device, const td_panels *panels, cudaStream_t stream);

/* Pieces of k for products of residues whose C has few tiles and whose k is long: enough to fill a large device, and the same on
 * every one. */
int td_panel_pieces(int64_t m, int64_t n, int64_t k, int64_t batch);

#endif
