/* operands.h - the matrices of a drawn call in device memory, of which only what the call may read
 * has been written, and what the call leaves in them. For drawn.c and those of its calls. */
#ifndef UNWRITTEN_OPERANDS_H
#define UNWRITTEN_OPERANDS_H

#include <complex.h>
#include <cublas_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../support/random.h"

/* Types of elements, as routines have them in their names, and int. */
typedef enum { SINGLE, REAL, SINGLE_COMPLEX, COMPLEX, INTEGER } element_type;
size_t type_bytes(element_type type);

/* A part of a matrix. */
typedef enum { NOTHING, LOWER, UPPER, ALL } part;
part triangle_of(cublasFillMode_t fill);

typedef struct {
    element_type type;
    int rows, columns, ld, members;
    int64_t stride; /* elements from member to member */
    char *at;       /* the first element, in device memory */
    part in, out;   /* written before the call, and by it */
    bool is_spoilt; /* what the call writes is nothing that anybody reads */
    void **array;   /* of the members, in device memory */
    char *memory, *before;
    size_t bytes; /* of memory, as it is before the call */
} matrix;

/* How the elements of a call are drawn. */
typedef struct {
    int kind;
    bool is_small; /* a matrix with an inverse: dominant on its diagonal */
} numbers;
numbers any_numbers(test_random *r);

/* The next matrix of the call: members of so many rows and columns, ld elements from column to
 * column and `stride` from member to member. */
matrix *add_matrix(test_random *r, element_type type, int rows, int columns, int ld, int members,
                   int64_t stride, part in, part out, numbers of);

/* The same of one member and any ld. */
matrix *add_any(test_random *r, element_type type, int rows, int columns, part in, part out,
                numbers of);

/* So many elements behind one another that a call fills. */
matrix *add_result(test_random *r, element_type type, int count);

/* Device memory for a call to work in, which nobody has written. */
void *add_work(size_t bytes);

/* Makes all matrices of the call what they were before it. */
void restore_all(void);

/* What a call has left in them: a hash of what it had to write, and how many bytes of other memory
 * it changed. One that has failed had nothing to write. */
typedef struct {
    uint64_t hash;
    long touched;
} outcome;
outcome outcome_of_all(bool has_failed);

void free_all(void);

#endif
