/* warp_products.h - int8 products of a warp, from shared memory, by the tensor cores (on a host
 * device: in plain C). For kernels.
 *
 * Of the two operands of the tensor cores the first is B: then each lane has neighbouring rows of
 * C, which is column-major. */
#ifndef TD_WARP_PRODUCTS_H
#define TD_WARP_PRODUCTS_H

#include "../device/barrier.h"
#include "../device/portable.h"
#include "plane_gemm.h"

enum {
    WARP_ROWS = TD_LINE_GROUP, /* of C that a warp makes */
    CHUNK = 16, /* bytes that are copied, and loaded for the tensor cores, together */
    MMA_K = 32, /* a product of the tensor cores: of k, of columns and of rows of C */
    MMA_COLUMNS = 16,
    MMA_ROWS = 8,
    ROW_MMAS = WARP_ROWS / MMA_ROWS
};

/* A block's warps, the columns of C of each, bytes of a line in a stage, stages, and how many
 * blocks a multiprocessor is to have. */
template <int warp_rows, int warp_columns, int columns_of_warp, int bytes, int stage_count,
          int block_count>
struct shape {
    enum {
        threads = 32 * warp_rows * warp_columns,
        column_mmas = columns_of_warp / MMA_COLUMNS,
        rows = WARP_ROWS * warp_rows,
        columns = columns_of_warp * warp_columns,
        lines = rows + columns,
        k_step = bytes,
        chunks = k_step / CHUNK,
        stages = stage_count,
        stage_bytes = lines * k_step,
        shared_bytes = stages * stage_bytes,
        blocks = block_count,
        turns = k_step / MMA_K * (column_mmas - 1) - 1 /* of copies between products of a stage */
    };
};

/* A thread's elements of its warp's tile: sums[i][j][2 h + e] belongs to column 16 i + 8 h + lane /
 * 4 and line 8 j + 2 (lane % 4) + e of A. It is how products of the tensor cores are spread over a
 * warp. */
template <class tile> using warp_sums = int32_t[tile::column_mmas][ROW_MMAS][4];

#if TD_HAS_CUDA_DEVICE

/* Where chunk `chunk` of a line is: eight neighbouring lines have the same chunk in different
 * banks. */
template <class tile> TD_DEVICE int place(int line, int chunk)
{
    return line * tile::k_step + (chunk ^ (line / (8 / tile::chunks) % tile::chunks)) * CHUNK;
}

/* Four 8 x 16 matrices of bytes, a row of which is at the address that each lane gives. */
TD_DEVICE void load_matrices(uint32_t (&to)[4], uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

/* sums += 16 x 32 bytes times 32 x 8 bytes; volatile, so that they stay in this order among the
 * loads. */
TD_DEVICE void multiply_matrices(int32_t (&s)[4], const uint32_t (&x)[4], const uint32_t *y)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#elif defined(__CUDA_ARCH__)
    TD_UNROLL
    for (int q = 0; q < 4; q++) /* quarters: lower or upper columns, first or second half of k */
        asm volatile(
            "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+r"(s[q % 2 * 2]), "+r"(s[q % 2 * 2 + 1])
            : "r"(x[q]), "r"(y[q / 2]));
#endif
}

/* A warp's products, in steps of MMA_K. Rows are loaded a step ahead, columns a group of
 * MMA_COLUMNS ahead. The last two groups of a stage are multiplied while the first rows of the next
 * stage are loaded. */
template <class tile> struct warp_products {
    enum {
        STEPS = tile::k_step / MMA_K,
        GROUPS = tile::column_mmas,
        LOADS = ROW_MMAS / 2, /* of a step's rows: two products' each */
        APART = 2 * ROW_MMAS / LOADS
    };
    static_assert(STEPS % 2 == 0 && GROUPS % 2 == 0,
                  "each step and stage begins in the same registers");
    warp_sums<tile> &sums;
    uint32_t columns[2][4], rows[2][LOADS][4];
    uint32_t x, y; /* this lane's places in the first stage */

    /* x0 and y0 are the warp's first lines there, of B and of A. columns and rows: how many of the
     * warp's are in C; the tensor cores multiply the others, too. */
    TD_INSIDE warp_products(warp_sums<tile> &own, const int8_t *x0, const int8_t *y0,
                            int /*columns*/, int /*rows*/)
        : sums(own)
    {
        const int lane = (int)threadIdx.x % 32;
        x = td_shared_address(x0 + place<tile>(lane % 16, lane / 16));
        y = td_shared_address(y0 + place<tile>(lane % 8 + lane / 16 * 8, lane / 8 % 2));
        TD_UNROLL
        for (int i = 0; i < LOADS; i++) load_rows(0, 0, i);
        load_columns(0, 0, 0);
    }

    /* A step is two chunks, whose places differ in the same bits as their numbers. */
    static TD_INSIDE uint32_t further(uint32_t at, int stage, int step)
    {
        return (at + (uint32_t)stage) ^ (uint32_t)(step * MMA_K);
    }

    TD_INSIDE void load_columns(int stage, int step, int i)
    {
        load_matrices(columns[i % 2], further(x, stage, step) + i * MMA_COLUMNS * tile::k_step);
    }

    TD_INSIDE void load_rows(int stage, int step, int i)
    {
        load_matrices(rows[step % 2][i], further(y, stage, step) + 2 * i * MMA_ROWS * tile::k_step);
    }

    TD_INSIDE void multiply(int step, int i, int j)
    {
        multiply_matrices(sums[i][j], columns[i % 2], &rows[step % 2][j / 2][j % 2 * 2]);
    }

    /* Multiplies all groups of a step but two, each followed by a turn of work. Then the step's
     * last columns are loaded. */
    template <class function> TD_INSIDE void multiply_first(int stage, int step, function work)
    {
        TD_UNROLL
        for (int i = 0; i < GROUPS - 2; i++) {
            load_columns(stage, step, i + 1);
            TD_UNROLL
            for (int j = 0; j < ROW_MMAS; j++) multiply(step, i, j);
            work(step * (GROUPS - 1) + i);
        }
        load_columns(stage, step, GROUPS - 1);
    }

    /* Multiplies the other two groups; stage and next are the step that comes next. */
    TD_INSIDE void multiply_last(int stage, int next)
    {
        const int step = (next + STEPS - 1) % STEPS;
        TD_UNROLL
        for (int j = 0; j < 2 * ROW_MMAS; j++) {
            if (j == ROW_MMAS) load_columns(stage, next, 0);
            if (j % APART == 0) load_rows(stage, next, j / APART);
            multiply(step, GROUPS - 2 + j / ROW_MMAS, j % ROW_MMAS);
        }
    }

    /* Loads the rest of a stage, and calls work(turn) for each of tile::turns, between products. */
    template <class function> TD_INSIDE void read(int stage, function work)
    {
        TD_UNROLL
        for (int step = 0; step < STEPS; step++) {
            multiply_first(stage, step, work);
            if (step + 1 < STEPS) {
                multiply_last(stage, step + 1);
                work(step * (GROUPS - 1) + GROUPS - 2);
            }
        }
    }

    /* The rest of its products. */
    TD_INSIDE void finish(int next) { multiply_last(next, 0); }
};

#else

template <class tile> TD_DEVICE int place(int line, int chunk)
{
    return line * tile::k_step + chunk * CHUNK;
}

/* Before loops that compilers make vectors of: untold as long as they stay loops, but at the level
 * that sanitized kernels are compiled at where they are told to. */
#if defined(TD_KEEPS_CALLS)
#define IN_VECTORS     _Pragma("omp simd")
#define SUM_IN_VECTORS _Pragma("omp simd reduction(+ : sum)")
#else
#define IN_VECTORS     TD_UNROLL_N(1)
#define SUM_IN_VECTORS TD_UNROLL_N(1)
#endif

template <int count>
TD_UNCHECKED TD_DEVICE void widen_bytes(int16_t (&to)[count], const int8_t *from)
{
    IN_VECTORS
    for (int l = 0; l < count; l++) to[l] = from[l];
}

/* Widens shared memory to int16, which compilers multiply and add in pairs. A sanitizer looks at
 * the copy of all of it rather than at each byte. */
template <int count> TD_DEVICE void widen(int16_t (&to)[count], const int8_t *from)
{
#if defined(TD_KEEPS_CALLS)
    int8_t bytes[count];
    memcpy(bytes, from, sizeof bytes);
    from = bytes;
#endif
    widen_bytes(to, from);
}

template <int count>
TD_UNCHECKED TD_DEVICE int32_t dot(const int16_t (&x)[count], const int16_t (&y)[count])
{
    int32_t sum = 0;
    SUM_IN_VECTORS
    for (int l = 0; l < count; l++) sum += x[l] * y[l];
    return sum;
}

#undef IN_VECTORS
#undef SUM_IN_VECTORS

/* A thread's products, all of a stage at once; sums of rows and columns outside C stay 0. */
template <class tile> struct warp_products {
    enum { K = tile::k_step, COLUMNS = 2 * tile::column_mmas, ROWS = 2 * ROW_MMAS };
    warp_sums<tile> &sums;
    const int8_t *x, *y;
    int columns_left, rows_left; /* in C, from the thread's first column and row on */

    TD_INSIDE warp_products(warp_sums<tile> &own, const int8_t *x0, const int8_t *y0, int columns,
                            int rows)
        : sums(own)
    {
        const int lane = (int)threadIdx.x % 32;
        x = x0 + lane / 4 * K;
        y = y0 + lane % 4 * 2 * K;
        columns_left = columns - lane / 4;
        rows_left = rows - lane % 4 * 2;
    }

    static TD_INSIDE int column_of(int i) { return i * MMA_COLUMNS / 2; }
    static TD_INSIDE int row_of(int j) { return j / 2 * MMA_ROWS + j % 2; }

    template <class function> TD_INSIDE void read(int stage, function work)
    {
        for (int turn = 0; turn < tile::turns; turn++) work(turn);
        multiply(stage);
    }

    TD_INSIDE void multiply(int stage)
    {
        int16_t column[K], rows[ROWS][K];
        if (columns_left <= 0) return;
        for (int j = 0; j < ROWS && row_of(j) < rows_left; j++)
            widen(rows[j], y + stage + row_of(j) * K);
        for (int i = 0; i < COLUMNS && column_of(i) < columns_left; i++) {
            widen(column, x + stage + column_of(i) * K);
            for (int j = 0; j < ROWS && row_of(j) < rows_left; j++) {
                int32_t *sum = &sums[i / 2][j / 2][i % 2 * 2 + j % 2];
                *sum = (int32_t)((uint32_t)*sum + (uint32_t)dot(column, rows[j]));
            }
        }
    }

    TD_INSIDE void finish(int) {}
};

#endif

#endif
