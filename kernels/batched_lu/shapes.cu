/* shapes.cu - THE tables of kernel shapes, as bench/lu_shapes.py prints them: by type and order,
 * the fastest that was measured for 10000 matrices on an H200, from
 * docs/results/h200-2026-11-23-lu6/lu.csv (`bench/lu --shapes`); beyond TD_LU_MOST rows for 1000 on
 * an H100, from docs/results/h100-2026-11-27-large. No bits depend on them. */
#include "factor.h"

enum { SHAPES_OF_TYPE = 14 };

/* Up to so many rows; a shape for which the device has too little shared memory is passed over. */
static const struct {
    int to;
    td_lu_shape shape;
} shapes[TD_LU_TYPES][SHAPES_OF_TYPE] = {
    [TD_LU_S] = {{8, TD_LU_LANES_8},
                 {16, TD_LU_LANES_16},
                 {24, TD_LU_LANES_24},
                 {32, TD_LU_LANES_32},
                 {36, TD_LU_LANES_36},
                 {48, TD_LU_LANES_48},
                 {64, TD_LU_WARP},
                 {144, TD_LU_SHARED},
                 {168, TD_LU_SHARED_1},
                 {200, TD_LU_SHARED_2},
                 {240, TD_LU_SHARED_1},
                 {TD_LU_MOST, TD_LU_SHARED_2},
                 {304, TD_LU_LARGE_1},
                 {TD_LU_MOST_FACTORED, TD_LU_LARGE_2}},
    [TD_LU_D] = {{8, TD_LU_LANES_8},
                 {16, TD_LU_LANES_16},
                 {24, TD_LU_LANES_24},
                 {32, TD_LU_LANES_32},
                 {36, TD_LU_LANES_36},
                 {64, TD_LU_WARP},
                 {112, TD_LU_SHARED_2},
                 {200, TD_LU_SHARED_3},
                 {240, TD_LU_SHARED_2},
                 {TD_LU_MOST, TD_LU_PAIRS_3},
                 {TD_LU_MOST_FACTORED, TD_LU_LARGE_2}},
    [TD_LU_C] = {{8, TD_LU_LANES_8},
                 {16, TD_LU_LANES_16},
                 {24, TD_LU_LANES_24},
                 {32, TD_LU_LANES_32},
                 {56, TD_LU_WARP},
                 {112, TD_LU_SHARED},
                 {168, TD_LU_SHARED_2},
                 {240, TD_LU_SHARED_1},
                 {TD_LU_MOST, TD_LU_SHARED_3},
                 {TD_LU_MOST_FACTORED, TD_LU_LARGE_1}},
    [TD_LU_Z] = {{8, TD_LU_LANES_8},
                 {16, TD_LU_LANES_16},
                 {24, TD_LU_LANES_24},
                 {32, TD_LU_LANES_32},
                 {56, TD_LU_WARP},
                 {80, TD_LU_PAIRS_3},
                 {TD_LU_MOST, TD_LU_SHARED_3},
                 {TD_LU_MOST_FACTORED, TD_LU_LARGE_2}},
};

int td_lu_shape_of(td_lu_type type, int n)
{
    for (int i = 0; i < SHAPES_OF_TYPE; i++)
        if (n <= shapes[type][i].to && td_lu_shape_fits(type, n, shapes[type][i].shape))
            return shapes[type][i].shape;
    return n <= TD_LU_MOST ? TD_LU_SHARED_1 : TD_LU_LARGE_1;
}

/* Up to so many rows, the vectors in shared memory that a block has, TD_LU_MOST for all of a
 * matrix, and the lanes that share one: as measured for 10000 inverses on an H100, and printed from
 * docs/results/h100-2026-11-27/lu_shapes.csv. */
enum { BLOCKS_OF_TYPE = 8 };
static const struct {
    int to;
    td_lu_arrangement block;
} blocks[TD_LU_TYPES][BLOCKS_OF_TYPE] = {
    [TD_LU_S] = {{168, {TD_LU_MOST, 1}},
                 {192, {64, 1}},
                 {232, {TD_LU_MOST, 1}},
                 {TD_LU_MOST, {64, 1}}},
    [TD_LU_D] = {{104, {TD_LU_MOST, 1}},
                 {120, {64, 1}},
                 {168, {TD_LU_MOST, 1}},
                 {176, {64, 1}},
                 {TD_LU_MOST, {TD_LU_MOST, 1}}},
    [TD_LU_C] = {{88, {TD_LU_MOST, 1}},
                 {104, {TD_LU_MOST, 2}},
                 {136, {64, 2}},
                 {152, {32, 2}},
                 {168, {TD_LU_MOST, 2}},
                 {192, {64, 2}},
                 {232, {32, 2}},
                 {TD_LU_MOST, {128, 2}}},
    [TD_LU_Z] = {{64, {TD_LU_MOST, 1}},
                 {88, {32, 4}},
                 {104, {TD_LU_MOST, 4}},
                 {152, {32, 4}},
                 {TD_LU_MOST, {TD_LU_MOST, 4}}},
};

td_lu_arrangement td_lu_arrangement_of(td_lu_type type, int n)
{
    int i = 0;
    while (n > blocks[type][i].to) i++;
    return blocks[type][i].block;
}

/* Orders from which strips were faster than these, by what is made, as measured for 10000 matrices
 * on an H100 (docs/results/h100-2026-11-27-strips). */
static const int least_strips[] = {[td_lu_vectors::TD_VECTORS_INVERSE] = 44,
                                   [td_lu_vectors::TD_VECTORS_SOLUTION] = 33,
                                   [td_lu_vectors::TD_VECTORS_TRIANGLE] = 33};

bool td_lu_takes_strips(const td_lu_vectors *p)
{
    if (p->lanes) return p->lanes == TD_LU_STRIPS;
    return p->together == 0 && p->n >= least_strips[p->what] && td_lu_has_strips(p->type);
}

int td_lu_most_lanes(td_lu_type type)
{
    return td_lu_with_number(type, [](auto zero) { return td_lu_most_lanes_of<decltype(zero)>(); });
}

cudaError_t td_lu_prepare(void)
{
    cudaError_t error = td_lu_factor_prepare();
    if (error == cudaSuccess) error = td_lu_invert_prepare();
    if (error == cudaSuccess) error = td_lu_strips_prepare();
    return error == cudaSuccess ? td_lu_solve_prepare() : error;
}
