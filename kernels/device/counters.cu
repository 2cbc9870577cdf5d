/* counters.cu - counts of one call from the device's memory to the host's. */
#include "counters.h"
#include "outcome.h"
#include "portable.h"

#if TD_HAS_CUDA_DEVICE

static __device__ td_counters device_counters[TD_COUNTER_SLOTS + TD_CALL_SLOTS];

cudaError_t td_counters_find(td_counters **counters)
{
    void *address = NULL;
    const cudaError_t error = cudaGetSymbolAddress(&address, device_counters);
    *counters = static_cast<td_counters *>(address);
    return error;
}

#else

static td_counters device_counters[TD_COUNTER_SLOTS + TD_CALL_SLOTS];

cudaError_t td_counters_find(td_counters **counters)
{
    *counters = device_counters;
    return cudaSuccess;
}

#endif

TD_DEVICE td_counters take(td_counters *from)
{
    return {atomicExch(&from->repaired, 0ull), atomicExch(&from->tiles, 0ull),
            atomicExch(&from->planes, 0ull), atomicExch(&from->work, 0ull)};
}

TD_DEVICE void add(const td_counters &counted, td_counters *to)
{
    if (counted.repaired) atomicAdd(&to->repaired, counted.repaired);
    if (counted.tiles) atomicAdd(&to->tiles, counted.tiles);
    if (counted.planes) atomicMax(&to->planes, counted.planes);
}

/* Puts a field before those that the word has already; what it has no room for is cut. */
TD_DEVICE void put(unsigned long long &word, int &used, int bits, unsigned long long value)
{
    word |= min(value, (1ull << bits) - 1) << used;
    used += bits;
}

TD_DEVICE unsigned long long share_of(unsigned long long tiles, unsigned long long all)
{
    const unsigned long long most = TD_OUTCOME_ALL - (tiles < all);
    return min((tiles * TD_OUTCOME_ALL + all - 1) / all, most);
}

TD_DEVICE unsigned long long outcome_of(const td_counters &counted, unsigned long long tiles,
                                        unsigned ticket)
{
    const unsigned long long in_tiles = counted.tiles * TD_ELEMENTS_OF_TILE,
                             singles = counted.repaired - min(counted.repaired, in_tiles);
    unsigned long long word = 0;
    int used = 0;
    put(word, used, TD_BITS_OF_SINGLES, (singles + tiles - 1) / tiles);
    put(word, used, TD_BITS_OF_TILES, share_of(counted.tiles, tiles));
    put(word, used, TD_BITS_OF_WORK, counted.work);
    put(word, used, TD_BITS_OF_PLANES, counted.planes);
    put(word, used, TD_BITS_OF_TICKET, ticket);
    return word;
}

static __global__ void move_kernel(TD_PARAMETER td_counts_move move)
{
    const td_counters counted = take(move.from);
    if (move.to) add(counted, move.to);
    if (move.word)
        *const_cast<volatile unsigned long long *>(move.word) =
            outcome_of(counted, move.tiles, move.ticket);
}

cudaError_t td_counters_move(const td_counts_move *move, cudaStream_t stream)
{
    return TD_LAUNCH(move_kernel, dim3(1), dim3(1), 0, stream, *move);
}

cudaError_t td_counters_prepare(void) { return td_load(cudaSuccess, move_kernel); }
