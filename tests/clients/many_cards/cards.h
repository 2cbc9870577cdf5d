/* cards.h - what the programs of this folder share: a rank of several, one card each, that finds
 * the others by NCCL; matrices spread over them in blocks, by cyclic turns, whose elements follow
 * from their indices; times, and the largest error of all ranks.
 *
 * A rank is told of itself as torchrun does it: RANK, WORLD_SIZE, LOCAL_RANK. NCCL's unique id goes
 * through a file that rank 0 writes: it must not be there before. */
#ifndef CARDS_H
#define CARDS_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

/* Ends the program with a line that says what failed, and with which status. */
#define CHECKED(call)                                                                              \
    do {                                                                                           \
        const int status_ = (int)(call);                                                           \
        if (status_ == 0) break;                                                                   \
        fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #call, status_);             \
        exit(1);                                                                                   \
    } while (0)

/* The ranks as a grid, counted down its columns: as square as their number allows. */
typedef struct {
    int rank, count;
    int rows, columns, row, column; /* of the grid; the rank's own place */
    ncclComm_t comm;
    cudaStream_t stream;
} cards;

cards cards_join(const char *id_file);
void cards_leave(cards *c);

/* Element (i, j) of a matrix, from 0. */
typedef double _Complex element(int64_t i, int64_t j);

/* Numbers between -1/2 and 1/2 that follow from indices, and differ from `which` to `which`. */
double cards_number(int64_t i, int64_t j, int which);

/* An m x n matrix in blocks of block x block: what this rank has of it, in columns ld apart. */
typedef struct {
    int64_t m, n, block, rows, columns, ld;
    bool is_complex;
    void *device;
} spread;

/* With the elements of `of`; NULL: zeros. */
spread spread_make(const cards *c, int64_t m, int64_t n, int64_t block, bool is_complex,
                   element *of);
void spread_set(const cards *c, const spread *s, element *of);
void spread_free(spread *s);

/* All of the rank's part, in host memory that the caller frees: rows x columns, ld apart. */
void *spread_read(const spread *s);

/* Indices in the whole matrix of the rank's row or column. */
int64_t spread_row(const cards *c, const spread *s, int64_t row);
int64_t spread_column(const cards *c, const spread *s, int64_t column);

/* Seconds of one call of `work` on all ranks together, the median of some, after one that is not
 * timed. `again` comes before each, and is not timed; NULL: nothing. */
double cards_time(const cards *c, void (*work)(void *), void (*again)(void *), void *of);

/* Rank 0 prints a line of JSON. The error is in units of n 2^-53 of what it is measured beside. */
void cards_tell(const cards *c, const char *name, int64_t n, double seconds, double operations,
                double error);

#endif
