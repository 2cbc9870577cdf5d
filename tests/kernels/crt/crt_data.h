/* crt_data.h - what check_crt.c makes C from: residues of known X, and lines, scalars and
 * choices for them. */
#ifndef CRT_DATA_H
#define CRT_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/crt/finish_types.h"

__extension__ typedef __int128 wide;

typedef enum { UNIFORM, ANY_SIZE, HALVES, MOSTLY_ZERO } filling;
enum { FILLINGS = 4, MEMBERS = 2 };

typedef struct {
    uint64_t seed;
    int m, n, ld, count;
    bool is_given, is_estimated, has_open_lines, has_far_scales, has_least_results;
    bool is_complex;         /* rows 2i and 2i + 1 are the parts of complex elements */
    bool is_exact, has_ties; /* TD_FINISH_EXACT; beta C0 are halfway between two numbers */
    int blocks;              /* that multiply, at most; 0: as many as there are places */
    double alpha, beta;
    filling fill;
} crt_case;

crt_case crt_random_case(uint64_t seed);
const char *crt_text(const crt_case *p);

/* X = +-(top 2^b + rest), b = low_bits(moduli) in crt_data.c: no wide number holds the products of
 * 17 moduli and more. */
typedef struct {
    wide top;
    uint32_t rest;
    bool is_negative;
} crt_number;

/* x 2^-scale as a binary64 number, x of so many moduli. */
double crt_nearest_to(crt_number x, int count, int scale);

/* Of MEMBERS members: residues [plane][member][column][row], residue_ld rows to a column and
 * `plane` bytes to a plane, which is a modulus or, of complex products, half of one; X and
 * min_moduli [member][column][row], ld rows to a column. */
typedef struct {
    int8_t *residue;
    crt_number *x;
    td_line *line[2];
    double *c;
    uint16_t *masks;
    uint8_t *min_moduli;
    td_choice choice[MEMBERS];
    size_t ld, numbers, residue_ld, plane, residues, elements, lines[2], tiles;
} crt_data;

crt_data crt_make_data(const crt_case *p);
void crt_free_data(crt_data *d);

/* So many bytes that are all alike. */
void *crt_filled(size_t bytes, int byte);

#endif
