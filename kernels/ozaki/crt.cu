/* crt.cu - C from the products' residues: the Chinese remainder theorem in whole numbers. */
#include "finish.h"
#include "../int8/residue.h"
#include "crt_double.h"
#include "crt_whole.h"
#include "residues.h"

/* limbs_: of X; columns: limbs of P / G; fixed: the number of moduli, 0: known at run time. */
template <int limbs_, int columns, int fixed> struct residue_source {
    enum { limbs = limbs_ };
    td_residue_product product;
    int moduli_;

    TD_DEVICE void load(const residue_source &s, int row, int col, td_wide<limbs> *x)
    {
        const int moduli = fixed ? fixed : s.moduli_;
        const int8_t *at = s.product.residue + blockIdx.z * s.product.batch_step +
                           (int64_t)col * s.product.ld + row;
        uint32_t residues[TD_GROUPS][TD_GROUP] = {};
        TD_UNROLL
        for (int t = 0; t < (fixed ? fixed : (int)TD_MAX_MODULI); t++)
            if (t < moduli)
                residues[t / TD_GROUP][t % TD_GROUP] =
                    *reinterpret_cast<const uint32_t *>(at + t * s.product.plane_step);
        uint64_t fraction[TD_SUBTILE] = {};
        int64_t column[TD_SUBTILE][limbs] = {};
        TD_UNROLL
        for (int g = 0; g < TD_GROUPS; g++) {
            if (TD_GROUP * g >= moduli) continue;
            const td_group<TD_P_LIMBS> &group = td_tables.group[moduli][g];
            uint32_t y[TD_SUBTILE];
            if (fixed == 0 || TD_GROUP * g + 2 < fixed)
                td_add_group<TD_GROUP>(group, residues[g], y);
            else
                td_add_group<2>(group, residues[g], y);
            TD_UNROLL
            for (int e = 0; e < TD_SUBTILE; e++) {
                fraction[e] += (uint64_t)(y[e] << group.raise) * group.fraction;
                TD_UNROLL
                for (int c = 0; c < columns; c++)
                    column[e][c] =
                        (int64_t)((uint64_t)column[e][c] + (uint64_t)y[e] * group.limb[c]);
            }
        }
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++)
            x[e] = td_less_multiple<limbs>(td_tables.less_product[moduli], column[e], fraction[e]);
    }
};

/* P / G of up to 15 moduli has three limbs, P four; of 20, both have five. */
enum { SHORT_MODULI = 15 };

/* For members of `least` to `most` moduli, some of them having code of their own. Grid: see td_finish_tiles. */
template <int limbs, int columns, int usual, int blocks, td_finish_kind kind>
static __global__ void __launch_bounds__(TD_FINISH_THREADS, blocks)
    finish_kernel(const td_residue_product product, const td_finish finish, int least, int most)
{
    td_begin_kernel();
    const int moduli = finish.choice[blockIdx.z].parameter;
    if (kind == TD_FINISH_ROUND && usual && moduli == 0) {
        td_leave_tiles(finish);
        return;
    }
    if (moduli < least || moduli > most) return;
    if (usual && moduli == usual)
        td_finish_tiles<kind>(finish, residue_source<limbs, columns, usual>{product, moduli});
    else
        td_finish_tiles<kind>(finish, residue_source<limbs, columns, 0>{product, moduli});
}

/* ---- by binary64 arithmetic ---- */

/* A subtile and what its columns have in common. */
struct subtile {
    int row, col, rows, cols;
    const td_line *line[2];
    double *c;
    double alpha, beta;
};

TD_DEVICE subtile subtile_at(const td_finish &finish, int row, int col)
{
    const td_target &target = finish.target;
    subtile own = {
        row, col,  min((int)TD_SUBTILE, target.m - row), min((int)TD_SUBTILE, target.n - col),
        {},  NULL, td_scalar_value(target.alpha),        td_scalar_value(target.beta)};
    TD_UNROLL
    for (int o = 0; o < 2; o++)
        own.line[o] = finish.line[o] + blockIdx.z * finish.lines_of_member[o];
    own.c = td_target_c<double>(target) + row + (int64_t)col * target.c.ld;
    return own;
}

/* Residues of four elements of a column. */
template <int moduli> struct column_residues {
    uint32_t of[moduli];

    TD_DEVICE void load(column_residues &r, const td_residue_product &product, int row, int col)
    {
        const int8_t *at =
            product.residue + blockIdx.z * product.batch_step + (int64_t)col * product.ld + row;
        TD_UNROLL
        for (int t = 0; t < moduli; t++)
            r.of[t] = *reinterpret_cast<const uint32_t *>(at + t * product.plane_step);
    }
};

/* One column, if it is sure how all its elements are rounded. Scales are in the place of an exponent's upper half. */
template <int moduli>
TD_DEVICE bool finish_column_double(const subtile &own, const column_residues<moduli> &residues,
                                    const uint32_t (&scale_a)[TD_SUBTILE], uint32_t scale_b,
                                    double *c)
{
    const td_column column = {c, own.rows};
    uint32_t scale[TD_SUBTILE];
    double c0[TD_SUBTILE] = {}, x[TD_SUBTILE];
    if (own.beta != 0.0) td_column::load(column, c0);
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) scale[i] = scale_a[i] + scale_b;
    const unsigned unsure = td_round_residues<moduli>(residues.of, scale, x);
    if (unsure && td_without_zeros<moduli>(residues.of, unsure, x)) return false;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) x[i] = td_axpby(own.alpha, x[i], own.beta, &c0[i]);
    td_column::store(column, x, 0);
    return true;
}

/* The columns that can be finished so, as bits. The next one's residues are loaded ahead. */
template <int moduli>
TD_DEVICE unsigned finish_columns_double(const td_residue_product &product, const td_finish &finish,
                                         const subtile &own)
{
    const td_choice choice = finish.choice[blockIdx.z];
    td_worst_line a = td_worst_of(own.line[0][own.row]);
    uint32_t scale[TD_SUBTILE];
    column_residues<moduli> next;
    unsigned done = 0;
    column_residues<moduli>::load(next, product, own.row, own.col);
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        const td_line line = own.line[0][own.row + (i < own.rows ? i : 0)];
        a = td_join_worst(a, td_worst_of(line));
        scale[i] = (uint32_t)line.scale << 20;
    }
    double *c = own.c;
    TD_UNROLL_N(1)
    for (int j = 0; j < own.cols; j++, c += finish.target.c.ld) {
        const column_residues<moduli> residues = next;
        const td_line b = own.line[1][own.col + j];
        if (j + 1 < own.cols)
            column_residues<moduli>::load(next, product, own.row, own.col + j + 1);
        if (td_are_usual<moduli>(a, td_worst_of(b), choice) &&
            finish_column_double<moduli>(own, residues, scale, (uint32_t)b.scale << 20, c))
            done |= 1u << j;
    }
    return done;
}

/* The other columns, by whole numbers: seldom needed. Returns the mask. */
template <int moduli>
TD_DEVICE_CALL unsigned finish_columns_whole(const td_residue_product &product,
                                             const td_finish &finish, int row, int col,
                                             unsigned done, unsigned left)
{
    const subtile own = subtile_at(finish, row, col);
    enum { LIMBS = moduli <= SHORT_MODULI ? 4 : 5, COLUMNS = moduli <= SHORT_MODULI ? 3 : 5 };
    typedef residue_source<LIMBS, COLUMNS, moduli> source_type;
    const td_choice choice = finish.choice[blockIdx.z];
    const source_type source = {product, moduli};
    td_line a[TD_SUBTILE];
    unsigned mask = 0;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) a[i] = own.line[0][own.row + (i < own.rows ? i : 0)];
    TD_UNROLL_N(1)
    for (int j = 0; j < own.cols; j++) {
        td_wide<LIMBS> x[TD_SUBTILE];
        if (done >> j & 1) continue;
        source_type::load(source, own.row, own.col + j, x);
        mask |=
            td_finish_column<TD_FINISH_ROUND>(finish, choice, x, a, own.line[1][own.col + j],
                                              {own.c + (int64_t)j * finish.target.c.ld, own.rows},
                                              left >> (TD_SUBTILE * j), own.alpha, own.beta)
            << (TD_SUBTILE * j);
    }
    return mask;
}

/* As td_finish_subtile. */
template <int moduli>
TD_DEVICE unsigned finish_subtile_double(const td_residue_product &product, const td_finish &finish,
                                         int row, int col)
{
    const td_target &target = finish.target;
    if (row >= target.m || col >= target.n) return 0;
    const subtile own = subtile_at(finish, row, col);
    unsigned left = 0, done = 0, mask = 0;
    for (int j = 0; j < own.cols; j++)
        left |= td_left_by_ranks(finish, finish.choice[blockIdx.z], row, col + j)
                << (TD_SUBTILE * j);
    if (left == 0 && own.alpha != 0.0) done = finish_columns_double<moduli>(product, finish, own);
    if (done != (1u << own.cols) - 1)
        mask = finish_columns_whole<moduli>(product, finish, row, col, done, left);
    *td_target_mask(target, row, col) = (uint16_t)mask;
    return mask;
}

template <int moduli>
TD_DEVICE void finish_tiles_double(const td_residue_product &product, const td_finish &finish)
{
    td_each_tile(finish.target, [&](int tile) {
        int row, col;
        td_subtile_of_tile(finish.target, tile, &row, &col);
        const unsigned mask = finish_subtile_double<moduli>(product, finish, row, col);
        td_close_tile(finish.target, tile, mask, td_few_of(finish, row, col, mask));
    });
}

/* For members of any moduli; most have code of their own. */
static __global__ void __launch_bounds__(TD_FINISH_THREADS, 3)
    finish_double_kernel(TD_PARAMETER td_residue_product product, TD_PARAMETER td_finish finish,
                         int least, int most)
{
    (void)least, (void)most;
    td_begin_kernel();
    const int moduli = finish.choice[blockIdx.z].parameter;
    if (moduli == 0)
        td_leave_tiles(finish);
    else if (moduli == TD_LEAST_PAIRED)
        finish_tiles_double<TD_LEAST_PAIRED>(product, finish);
    else if (moduli == TD_LEAST_PAIRED + 1)
        finish_tiles_double<TD_LEAST_PAIRED + 1>(product, finish);
    else if (moduli == TD_MOST_PAIRED)
        finish_tiles_double<TD_MOST_PAIRED>(product, finish);
    else
        td_finish_tiles<TD_FINISH_ROUND>(finish, residue_source<5, 5, 0>{product, moduli});
}

static const struct {
    int least, most;
    td_finish_kind kind;
    td_crt crt;
    void (*kernel)(td_residue_product, td_finish, int, int);
} finish_kernels[] = {
    {TD_MIN_MODULI, TD_MAX_MODULI, TD_FINISH_ROUND, TD_CRT_DOUBLE, finish_double_kernel},
    {TD_MIN_MODULI, SHORT_MODULI, TD_FINISH_ROUND, TD_CRT_WHOLE,
     finish_kernel<4, 3, TD_COMMON_MODULI, 3, TD_FINISH_ROUND>},
    {SHORT_MODULI + 1, TD_MAX_MODULI, TD_FINISH_ROUND, TD_CRT_WHOLE,
     finish_kernel<5, 5, 0, 2, TD_FINISH_ROUND>},
    {TD_EXACT_MODULI, TD_EXACT_MODULI, TD_FINISH_EXACT, TD_CRT_WHOLE,
     finish_kernel<5, 5, TD_EXACT_MODULI, 2, TD_FINISH_EXACT>},
};

/* ---- pieces ---- */

enum { FOLD_THREADS = 256, FOLD_BLOCKS = 256 };

/* Four residues of all pieces become the first piece's. */
TD_DEVICE void fold(const td_residue_product &p, int8_t *at, const td_sum_modulus &modulus)
{
    int32_t sum[TD_SUBTILE] = {};
    for (int piece = 0; piece < p.pieces; piece++) {
        const uint32_t residues = *reinterpret_cast<const uint32_t *>(at + piece * p.piece_step);
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++) sum[e] += (int8_t)(residues >> (8 * e));
    }
    *reinterpret_cast<uint32_t *>(at) = td_residues_of<TD_SHORT_SUM>(sum, modulus);
}

/* Grid: blocks over the residues of a modulus, modulus, batch member. */
static __global__ void __launch_bounds__(FOLD_THREADS)
    fold_kernel(const td_residue_product product, const td_finish finish)
{
    td_begin_kernel();
    const int t = (int)blockIdx.y;
    const int64_t quads = product.ld * finish.target.n / TD_SUBTILE;
    if (t >= finish.choice[blockIdx.z].parameter) return;
    int8_t *const at = product.residue + t * product.plane_step + blockIdx.z * product.batch_step;
    for (int64_t i = blockIdx.x * (int64_t)FOLD_THREADS + threadIdx.x; i < quads;
         i += (int64_t)gridDim.x * FOLD_THREADS)
        fold(product, at + i * TD_SUBTILE, td_moduli_of_sums.of[t]);
}

static cudaError_t fold_pieces(const td_residue_product *product, int moduli,
                               const td_finish *finish, int batch, cudaStream_t stream)
{
    const dim3 grid(FOLD_BLOCKS, (unsigned)moduli, (unsigned)batch);
    if (product->pieces == 1) return cudaSuccess;
    return TD_LAUNCH_NEXT(fold_kernel, grid, FOLD_THREADS, 0, stream, *product, *finish);
}

td_crt td_crt_of_device(td_finish_kind kind)
{
    int device = 0, ratio = 0; /* of binary32 to binary64 operations */
    if (kind != TD_FINISH_ROUND || cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, device) !=
            cudaSuccess)
        return TD_CRT_WHOLE;
    return ratio <= 2 ? TD_CRT_DOUBLE : TD_CRT_WHOLE;
}

cudaError_t td_residues_finish(const td_residue_product *product, int least, int most,
                               const td_finish *finish, int batch, cudaStream_t stream)
{
    cudaError_t error = fold_pieces(product, most, finish, batch, stream);
    for (const auto &one : finish_kernels) {
        /* What is seldom needed has few blocks: they end sooner. */
        const dim3 grid = one.least <= least ? td_grid_of_tiles(finish->target, 1, batch)
                                             : td_grid_of_turns(finish->target, 1, batch);
        if (one.kind == finish->kind && one.crt == product->crt && one.least <= most &&
            one.most >= least && error == cudaSuccess)
            error = TD_LAUNCH_NEXT(one.kernel, grid, TD_FINISH_THREADS, 0, stream, *product,
                                   *finish, one.least, one.most);
    }
    return error;
}

cudaError_t td_crt_prepare(void)
{
    cudaError_t error = td_load(cudaSuccess, fold_kernel);
    for (const auto &one : finish_kernels) error = td_load(error, one.kernel);
    return error;
}
