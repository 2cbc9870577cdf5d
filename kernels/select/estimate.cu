/* estimate.cu - what one int8 product of magnitudes (magnitudes.cu) says of abs(A')abs(B'), and
 * what follows from it. */
#include "../device/async_copy.h"
#include "certify.h"
#include "cheapest.h"

namespace
{

/* What is copied of the next tile while candidates are found for one; each thread copies what it
 * will read itself. */
struct fetched_tile {
    uint32_t bytes[TD_SUBTILE][TD_SUBTILES];
    td_line line[2 * TD_TILE];
};

/* Starts the copies of a tile, if there is one with that number. */
TD_DEVICE void fetch_tile(const td_estimate &p, int tile, int tiles, fetched_tile &to)
{
    const int tid = (int)threadIdx.x, words = sizeof(td_line) / sizeof(uint64_t);
    if (tile < tiles) {
        const tile_subtile own = place_subtile(p, tile);
        TD_UNROLL
        for (int j = 0; j < TD_SUBTILE; j++)
            if (own.rows > 0 && j < own.columns)
                td_async_copy<4>(&to.bytes[j][tid], own.at + j * p.min_moduli.ld);
        if (tid < 2 * TD_TILE) {
            const uint64_t *const line = reinterpret_cast<const uint64_t *>(place_line(p, tile));
            TD_UNROLL
            for (int w = 0; w < words; w++)
                td_async_copy<8>(reinterpret_cast<uint64_t *>(&to.line[tid]) + w, line + w);
        }
    }
    td_async_copy_commit();
}

/* The thread's subtile, when the copies are there. */
TD_DEVICE tile_subtile take_tile(const td_estimate &p, int tile, const fetched_tile &from)
{
    const int tid = (int)threadIdx.x;
    tile_subtile own = place_subtile(p, tile);
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++) own.bytes[j] = from.bytes[j][tid];
    return own;
}

/* The first tile from `tile` on, in steps of the grid, that C has elements of. */
TD_DEVICE int first_tile(const td_target &target, int tile)
{
    const int m_tiles = td_tiles(target.m), tiles = m_tiles * td_tiles(target.n);
    while (tile < tiles && !td_has_tile(target, tile % m_tiles * TD_TILE, tile / m_tiles * TD_TILE))
        tile += (int)gridDim.x;
    return tile;
}

/* Finds the first candidate that certifies each element of the block's tiles. Thread c returns how
 * many elements candidate c leaves, as left_of_tile counts them. All threads take part. */
TD_DEVICE unsigned certify_tiles(const td_estimate &p)
{
    TD_SHARED(tile_state, state, [2]);
    TD_SHARED(fetched_tile, fetched, [2]);
    const int tiles = td_tiles(p.target.m) * td_tiles(p.target.n), step = (int)gridDim.x,
              tid = (int)threadIdx.x;
    const bool has_line = tid < 2 * TD_TILE;
    const td_target &target = p.target;
    int tile = first_tile(target, (int)blockIdx.x), next = first_tile(target, tile + step), own = 0;
    unsigned uncertified = 0;
    if (tile >= tiles) return 0;
    fetch_tile(p, tile, tiles, fetched[0]);
    fetch_tile(p, next, tiles, fetched[1]);
    td_async_copy_wait<1>();
    if (has_line) summarise_line(p, fetched[0].line[tid], state[0].lines);
    __syncthreads();
    for (; tile < tiles; own ^= 1) {
        const int after = first_tile(target, next + step);
        const uint64_t left =
            certify_subtile(p, tile, state[own].lines, take_tile(p, tile, fetched[own]));
        count_left(state[own], left);
        fetch_tile(p, after, tiles, fetched[own]);
        td_async_copy_wait<1>();
        if (has_line && next < tiles)
            summarise_line(p, fetched[own ^ 1].line[tid], state[own ^ 1].lines);
        __syncthreads();
        uncertified += left_of_tile(state[own]);
        tile = next;
        next = after;
    }
    return uncertified;
}

/* Groups of lines of the part that have numbers other than 0 in a stage of k. By all threads. */
TD_DEVICE int groups_in_stage(const td_estimate &p, int which, int stage)
{
    const int lines = which ? p.target.n : p.target.m, groups = td_groups(lines);
    int count = 0;
    for (int first = 0; first < groups; first += TD_SUBTILES) {
        const int group = first + (int)threadIdx.x;
        const int64_t place =
            td_nonzero_place(lines, p.choose.measured.k, (int)blockIdx.z, group, stage);
        count += __syncthreads_count(group < groups &&
                                     (p.nonzero[which][place] & td_nonzero_bit(stage)) != 0);
    }
    return count;
}

/* Adds up the blocks of magnitudes of both operands that meet. */
TD_DEVICE void count_blocks(const td_estimate &p)
{
    for (int stage = (int)blockIdx.x; stage < stages_of(p.choose.measured.k);
         stage += (int)gridDim.x) {
        const int rows = groups_in_stage(p, 0, stage), columns = groups_in_stage(p, 1, stage);
        if (threadIdx.x == 0 && rows > 0 && columns > 0)
            atomicAdd(&p.met[blockIdx.z], (unsigned long long)rows * (unsigned)columns);
    }
}

} // namespace

/* Blocks that have places on a multiprocessor at a time, and how often where a batch has many
 * members. */
enum { CERTIFY_PLACES = 3, CERTIFY_TURNS = 4 };

/* Grid: td_certify_blocks, 1, batch member. */
static __global__ void __launch_bounds__(TD_SUBTILES, CERTIFY_PLACES)
    certify_kernel(TD_PARAMETER td_estimate p)
{
    td_begin_kernel();
    if (td_scalar_value(p.choose.measured.alpha) == 0.0) return;
    const td_choice choice = p.choose.chosen.choice[blockIdx.z];
    if (!td_wants_estimate(&choice)) return;
    const unsigned uncertified = certify_tiles(p);
    if (p.blocks > 0 && p.nonzero[0]) count_blocks(p);
    close_tiles(p, uncertified, (td_room)choice.room);
}

int td_certify_blocks(int m, int n, int batch, int multiprocessors)
{
    const int64_t places = (int64_t)CERTIFY_PLACES * multiprocessors;
    return (int)min(max((int64_t)1, CERTIFY_TURNS * places / batch),
                    min(places, (int64_t)td_tiles(m) * td_tiles(n)));
}

cudaError_t td_estimate_run(const td_estimate *p, int batch, cudaStream_t stream)
{
    const dim3 grid(
        (unsigned)td_certify_blocks(p->target.m, p->target.n, batch, p->multiprocessors), 1,
        (unsigned)batch);
    return TD_LAUNCH_NEXT(certify_kernel, grid, TD_SUBTILES, 0, stream, *p);
}

cudaError_t td_estimate_prepare(void) { return td_load(td_magnitudes_prepare(), certify_kernel); }
