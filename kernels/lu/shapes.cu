/* shapes.cu - THE table of kernel shapes: by type and order, the fastest that was measured for
 * 10000 matrices on an H200, as bench/lu_shapes.py prints it from
 * docs/results/h200-2026-11-23-lu6/lu.csv (`bench/lu --shapes`). No bits depend on it. */
#include "factor.h"

enum { SHAPES_OF_TYPE = 12 };

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
                 {TD_LU_MOST, TD_LU_SHARED_2}},
    [TD_LU_D] = {{8, TD_LU_LANES_8},
                 {16, TD_LU_LANES_16},
                 {24, TD_LU_LANES_24},
                 {32, TD_LU_LANES_32},
                 {36, TD_LU_LANES_36},
                 {64, TD_LU_WARP},
                 {112, TD_LU_SHARED_2},
                 {200, TD_LU_SHARED_3},
                 {240, TD_LU_SHARED_2},
                 {TD_LU_MOST, TD_LU_PAIRS_3}},
    [TD_LU_C] = {{8, TD_LU_LANES_8},
                 {16, TD_LU_LANES_16},
                 {24, TD_LU_LANES_24},
                 {32, TD_LU_LANES_32},
                 {56, TD_LU_WARP},
                 {112, TD_LU_SHARED},
                 {168, TD_LU_SHARED_2},
                 {240, TD_LU_SHARED_1},
                 {TD_LU_MOST, TD_LU_SHARED_3}},
    [TD_LU_Z] = {{8, TD_LU_LANES_8},
                 {16, TD_LU_LANES_16},
                 {24, TD_LU_LANES_24},
                 {32, TD_LU_LANES_32},
                 {56, TD_LU_WARP},
                 {80, TD_LU_PAIRS_3},
                 {TD_LU_MOST, TD_LU_SHARED_3}},
};

int td_lu_shape_of(td_lu_type type, int n)
{
    for (int i = 0; i < SHAPES_OF_TYPE; i++)
        if (n <= shapes[type][i].to && td_lu_shape_fits(type, n, shapes[type][i].shape))
            return shapes[type][i].shape;
    return TD_LU_SHARED_1;
}

/* Up to so many rows, the threads of a block that has vectors in shared memory, in the same way:
 * TD_LU_MOST for all of a matrix. */
enum { THREADS_OF_TYPE = 2 };
static const struct {
    int to, threads;
} vectors[TD_LU_TYPES][THREADS_OF_TYPE] = {
    [TD_LU_S] = {{240, TD_LU_MOST}, {TD_LU_MOST, 96}},
    [TD_LU_D] = {{TD_LU_MOST, TD_LU_MOST}},
    [TD_LU_C] = {{TD_LU_MOST, TD_LU_MOST}},
    [TD_LU_Z] = {{TD_LU_MOST, TD_LU_MOST}},
};

int td_lu_threads_of(td_lu_type type, int n)
{
    int i = 0;
    while (n > vectors[type][i].to) i++;
    return vectors[type][i].threads;
}

cudaError_t td_lu_prepare(void)
{
    cudaError_t error = td_lu_factor_prepare();
    if (error == cudaSuccess) error = td_lu_invert_prepare();
    return error == cudaSuccess ? td_lu_solve_prepare() : error;
}
