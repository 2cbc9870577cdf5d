/* worker.h - what one device does for a call of cublasXt: its copies of what tiles read, the tiles,
 * and the way of their results to the caller's matrix. */
#ifndef TD_XT_WORKER_H
#define TD_XT_WORKER_H

#include "../options/options.h"
#include "call.h"

/* Results that a device may have at a time: one is copied back while the next one is made. Of a
 * tile that is made in strips of columns, each of these is copied back while the next one is. */
enum { TD_XT_SLOTS = 2, TD_XT_MOST_STRIPS = 16 };

/* What devices copy a share of each: factors, and the result; and pieces of a share, each of which
 * others copy once it is there. */
enum { TD_XT_SHARED = TD_TILE_FACTORS + 1, TD_XT_PIECES = 4 };

/* Where a tile's matrices go in a device's memory: bytes from its start. Factors that are the same
 * matrix of the caller's in all tiles have the same place. */
typedef struct {
    size_t read[TD_TILE_FACTORS], written[TD_XT_SLOTS], end;
    int place[TD_TILE_FACTORS]; /* the first factor with the same place */
    int slots;
} td_xt_layout;
td_xt_layout td_xt_lay_out(const td_tile *tile, int slots);

/* What all devices of a call share while they work; the same for all tiles. */
typedef struct {
    const td_xt_call *x;
    const td_options *options; /* in force where the program called */
    td_decision decision;
    td_xt_layout layout; /* of the largest tile */
    bool shares_result;  /* there is one tile; its result is copied to and fro by all devices */
} td_xt_job;

/* A result in a device's memory: a tile of the caller's matrices, and its strips, with the columns
 * that are complete after each. */
typedef struct {
    td_progress progress; /* first */
    td_tile tile;
    int strips;
    int64_t columns[TD_XT_MOST_STRIPS];
    cudaEvent_t made[TD_XT_MOST_STRIPS];
} td_xt_slot;

/* A device with room for one tile, and for the result of another. */
typedef struct td_xt_worker {
    int ordinal;
    char *memory;     /* of its pool, in the order of its default stream */
    cudaStream_t out; /* by which others' shares come, and results leave */
    cudaEvent_t fetched[TD_XT_SHARED][TD_XT_PIECES], gathered;
    td_tile_part held[TD_TILE_FACTORS]; /* of the caller's matrices: the factors in `memory` */
    td_product whole;                   /* with factors in `memory`: what tiles are parts of */
    td_xt_slot slot[TD_XT_SLOTS];

    /* Of the last thing that it was told to do: a reason if it did not; whether all is well. */
    const char *reason;
    bool is_good;
} td_xt_worker;

bool td_xt_open(td_xt_worker *w, const td_xt_layout *l);
void td_xt_close(td_xt_worker *w);

/* Enqueues copies of one share of `shares` of what a tile reads to the device: of its factors, and
 * of its result if that is shared. */
bool td_xt_fetch_share(td_xt_worker *w, const td_xt_job *job, const td_tile *tile, int share,
                       int shares);

/* Enqueues copies of all other shares from the devices that have them, one each, or will have them
 * once they have done what was enqueued there. */
bool td_xt_gather_shares(td_xt_worker *w, const td_xt_job *job, const td_tile *tile,
                         const td_xt_worker *workers, int own, int shares);

/* Enqueues a tile by an engine, and what it reads that is not there yet; a reason if it did not
 * run. The slot is free. */
const char *td_xt_start(td_xt_worker *w, const td_xt_job *job, const td_tile *tile, int slot);

/* As td_xt_start, but by mode fp64 if the call's mode cannot run the tile. */
const char *td_xt_start_anyhow(td_xt_worker *w, const td_xt_job *job, const td_tile *tile,
                               int slot);

/* Copies a share of the owner's result back, by the device's own memory, and waits until it is in
 * the caller's matrix. */
bool td_xt_finish_share(td_xt_worker *w, const td_xt_job *job, const td_xt_worker *owner, int share,
                        int shares);

/* Copies the slot's result back, strip after strip, and waits until it is in the caller's matrix.
 * False if that fails; copies of earlier strips may be under way then. */
bool td_xt_finish(td_xt_worker *w, const td_xt_job *job, int slot);

#endif
