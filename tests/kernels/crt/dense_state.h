/* dense_state.h - dense tiles that a test has made up: a product, what is masked of it, and all
 * that the second product needs on the device. */
#ifndef DENSE_STATE_H
#define DENSE_STATE_H

#include "lib/engines/ozaki/second_product.h"
#include "tests/kernels/support/problem.h"

enum { MOST_MEMBERS = 2, MOST_BUFFERS = 64 };

/* Which elements of a tile are masked; of every third tile none, or few. */
typedef enum { ALL, HALF, JUST_DENSE, JUST_FEW, ONE_TILE, FORMS } form;

typedef struct {
    product of;
    form form;
    int batch;
    int64_t m_piece, n_piece, k_pass; /* 0: not cut */
    bool is_worth, has_specials;
    int edge; /* see plant_edges; 0: the data as they are */
} dense_case;

const char *dense_text(const dense_case *c);
bool dense_is_masked(const dense_case *c, int64_t i, int64_t j);

typedef struct {
    problem p[MOST_MEMBERS];
    test_matrix c[MOST_MEMBERS];
    void *buffer[MOST_BUFFERS];
    int buffers;
    int64_t tiles[2];
    uint16_t *masks;
    uint8_t *is_dense;
    td_open_counts *counts;
    int32_t *open;
    td_view operand[2];
    td_target target;
    const td_line *line[2];
    int16_t *shift;
    int32_t *shifted;
    unsigned long long *repaired;
} dense_state;

/* The index in the masks of an element of a member, and its bit. */
int64_t dense_mask_index(const dense_state *s, int z, int64_t i, int64_t j);
unsigned dense_mask_bit(int64_t i, int64_t j);

dense_state dense_make(const dense_case *c);
void dense_free(dense_state *s, const dense_case *c);

/* The second product, and single sums; then C and masks as they are on the device. Returns how many
 * elements were counted. */
void dense_run(dense_state *s, const dense_case *c);
void dense_repair(dense_state *s, const dense_case *c);
unsigned long long dense_fetch(dense_state *s, const dense_case *c);

#endif
