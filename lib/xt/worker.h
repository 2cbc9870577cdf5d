/* worker.h - what one device does for a call of cublasXt: its copies of what tiles read, the tiles,
 * and the way of their results to the caller's matrix. */
#ifndef TD_XT_WORKER_H
#define TD_XT_WORKER_H

#include "../options/options.h"
#include "call.h"

/* Results that a device may have at a time: one is copied back while the next one is made. */
enum { TD_XT_SLOTS = 2 };

/* Where a tile's matrices go in a device's memory: bytes from its start. */
typedef struct {
    size_t read[TD_TILE_FACTORS], written[TD_XT_SLOTS], end;
    int slots;
} td_xt_layout;
td_xt_layout td_xt_lay_out(const td_tile *tile, int slots);

/* What all devices of a call share while they work; the same for all tiles. */
typedef struct {
    const td_xt_call *x;
    const td_options *options; /* in force where the program called */
    td_decision decision;
    td_xt_layout layout; /* of the largest tile */
} td_xt_job;

/* A device with room for one tile, and for the result of another. */
typedef struct td_xt_worker {
    int ordinal;
    char *memory;                       /* of its pool, in the order of its default stream */
    cudaStream_t out;                   /* by which results leave */
    td_tile_part held[TD_TILE_FACTORS]; /* of the caller's matrices: the factors in `memory` */
    td_product whole;                   /* with factors in `memory`: what tiles are parts of */
    struct {
        td_tile tile; /* of the caller's matrices */
        cudaEvent_t made;
    } slot[TD_XT_SLOTS];

    /* Of the last thing that it was told to do: a reason if it did not; whether all is well. */
    const char *reason;
    bool is_good;
} td_xt_worker;

bool td_xt_open(td_xt_worker *w, const td_xt_layout *l);
void td_xt_close(td_xt_worker *w);

/* Copies one share of `shares` of the factors that a tile reads to the device, and waits until they
 * are there. */
bool td_xt_fetch_share(td_xt_worker *w, const td_xt_job *job, const td_tile *tile, int share,
                       int shares);

/* Enqueues copies of all other shares from the devices that have them, one each. */
bool td_xt_gather_shares(td_xt_worker *w, const td_xt_job *job, const td_tile *tile,
                         const td_xt_worker *workers, int own, int shares);

/* Enqueues a tile by an engine, and what it reads that is not there yet; a reason if it did not
 * run. The slot is free. */
const char *td_xt_start(td_xt_worker *w, const td_xt_job *job, const td_tile *tile, int slot);

/* The same by mode fp64, if the call's mode cannot run it. */
const char *td_xt_start_anyhow(td_xt_worker *w, const td_xt_job *job, const td_tile *tile,
                               int slot);

/* Waits until the slot's result is in the caller's matrix. */
bool td_xt_finish(td_xt_worker *w, const td_xt_job *job, int slot);

#endif
