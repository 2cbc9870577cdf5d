#include "unwritten.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "settings.h"

/* What unwritten words look like: the seed modulo KINDS. */
typedef enum {
    NANS,      /* as binary64 */
    ZEROS,     /* all bits */
    ONES,      /* all bits */
    COUNTS,    /* two integers of 32 bits from 0 to 15 */
    LARGE,     /* as binary64 2^993 and more */
    ORDINARY,  /* as binary64 from 2^-8 to 2^8, of both signs */
    SINGLES,   /* two of the same as binary32 */
    EXPONENTS, /* two integers of 32 bits from -1024 to 1023 */
    RANDOM,    /* bits */
    LEFT,      /* what was there: the process's own, of calls before, or the system's zeros */
    KINDS
} kind;

static atomic_uint_fast64_t seed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void take_setting(void) { atomic_store(&seed, hostgpu_get_settings()->unwritten); }

static uint64_t get_seed(void)
{
    pthread_once(&once, take_setting);
    return atomic_load_explicit(&seed, memory_order_relaxed);
}

void hostgpu_draw_unwritten(uint64_t drawn_seed)
{
    pthread_once(&once, take_setting);
    atomic_store(&seed, drawn_seed);
}

bool hostgpu_draws_unwritten(void) { return get_seed() != 0; }

/* A word of two integers. */
static uint64_t pair(uint32_t upper, uint32_t lower) { return (uint64_t)upper << 32 | lower; }

/* Binary64 and binary32 numbers of a drawn sign and mantissa, and of the exponent. */
static uint64_t number_of(uint64_t drawn, uint64_t exponent)
{
    return (drawn & UINT64_C(0x800fffffffffffff)) | (1023 + exponent) << 52;
}
static uint32_t single_of(uint32_t drawn, uint32_t exponent)
{
    return (drawn & UINT32_C(0x807fffff)) | (127 + exponent) << 23;
}

/* Of a NaN the upper 13 bits are set, and most others are drawn: whole numbers that nobody wrote
 * are not all the same, as they would be if all bits were. Those of 32 bits are below 2^29 in
 * magnitude: kernels may add up what is behind a matrix, and use nothing of that. */
static inline uint64_t word_of(kind of, uint64_t drawn)
{
    const uint32_t upper = (uint32_t)(drawn >> 32), lower = (uint32_t)drawn;

    switch (of) {
    case NANS:
        return pair(UINT32_C(0xfff80000) | (lower & 0xffff), (uint32_t)((int32_t)upper / 4));
    case ZEROS:
        return 0;
    case ONES:
        return UINT64_MAX;
    case COUNTS:
        return pair(upper >> 28, lower >> 28);
    case LARGE:
        return number_of(drawn, 993 + drawn % 31);
    case ORDINARY:
        return number_of(drawn, drawn % 16 - 8);
    case SINGLES:
        return pair(single_of(upper, upper % 16 - 8), single_of(lower, lower % 16 - 8));
    case EXPONENTS:
        return pair(upper % 2048 - 1024, lower % 2048 - 1024);
    default:
        return drawn;
    }
}

/* Inlined, so that one for a kind that is known asks no word for it. */
static inline __attribute__((always_inline)) void fill(uint64_t *word, size_t words, uint64_t from,
                                                       kind of)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);

    for (size_t i = 0; i < words; i++) {
        const uint64_t drawn = step * (i + 1 + (from << 20));
        word[i] = word_of(of, from ? drawn ^ drawn >> 29 : drawn);
    }
}

void hostgpu_unset(void *memory, size_t bytes)
{
    const uint64_t from = get_seed();
    const kind of = (kind)(from % KINDS);
    const size_t words = bytes / sizeof(uint64_t);
    uint64_t *word = memory;

    if (of == LEFT) return;
    if (from)
        fill(word, words, from, of);
    else
        fill(word, words, 0, NANS);
    memset(word + words, of == ZEROS ? 0 : 0xff, bytes % sizeof(uint64_t));
}
