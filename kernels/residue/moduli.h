/* moduli.h - the moduli of the residue modes, and how large the numbers may be whose products they
 * can tell apart. For host C and for kernels. */
#ifndef TD_MODULI_H
#define TD_MODULI_H

#include "../arithmetic/logarithm.h"

/* The largest pairwise coprime numbers up to 256 whose centred residues are int8, greedily from 256
 * on. A mode with N moduli has the first N. */
#define TD_MODULI                                                                                  \
    256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, \
        173
enum { TD_MIN_MODULI = 2, TD_MAX_MODULI = 20 };

/* The next ones. Dense tiles (../crt/second_product.h) have these, too. */
#define TD_MORE_MODULI                                                                             \
    167, 163, 157, 151, 149, 139, 137, 131, 127, 113, 109, 107, 103, 101, 97, 89, 83, 79, 73, 71,  \
        67, 61
enum { TD_SECOND_MODULI = 42 };

/* The best pairwise coprime numbers up to 256 modulo which -1 has a square root j: all of their
 * primes are 1 modulo 4. A complex product is two products of residues there, of a + jb and of
 * a - jb (split_complex.cu). A mode with N such moduli has the first N; with TD_MAX_MODULI at most
 * the data choose, TD_FINISH_EXACT takes all. */
#define TD_COMPLEX_MODULI                                                                          \
    241, 233, 229, 221, 205, 197, 193, 181, 173, 157, 149, 137, 113, 109, 101, 97, 89, 73, 61, 53, \
        37, 29
enum { TD_MOST_COMPLEX_MODULI = 22 };

/* Products of 128 * 128 over this many elements of k stay in int32 (modulo 256, they may wrap),
 * with room for a residue. A multiple of what k is padded to. */
enum { TD_RESIDUE_K = (1 << 17) - 64 };

/* Logarithm of the largest norm of lines of k elements that stays at or below `most` when rounding
 * adds sqrt(k) / 2 to it. */
TD_BOTH int td_level_of_few(int64_t most, int64_t k)
{
    int64_t added = 0; /* ceil(sqrt(k) / 2) */
    while (4 * added * added < k) added++;
    const int64_t room = most - added;
    return room >= 1 ? td_log_below((uint64_t)room) : -256;
}

/* Logarithm (TD_LOG) of the largest norm that lines of k elements may have before they are rounded
 * to whole numbers: the products of rounded lines are then below P / 2 (1 - 2^-16) in magnitude, P
 * the product of `moduli` moduli (Cauchy and Schwarz; rounding adds sqrt(k) / 2 to a norm). -TD_LOG
 * if there is no room for anything but zeros. 1 <= k < 2^31. scripts/lib/moduli_levels.py prints
 * the tables, and fails as a test if they are others. */
TD_BOTH int td_level(int moduli, int64_t k)
{
    /* floor(sqrt(P / 2 (1 - 2^-16))) for 2 to 7 moduli. */
    const int64_t most[] = {180, 2873, 45526, 715512, 11107744, 171721562};
    /* floor(TD_LOG (log2(P - 1) - 1) / 2 - TD_LOG 2^-16) - 1 from 8 on: 1 / TD_LOG is more than
     * rounding can add. */
    const int level[] = {8008,  9012,  10013, 11012, 12005, 12994, 13971,
                         14947, 15919, 16888, 17848, 18806, 19758};
    if (moduli == TD_SECOND_MODULI) return 38765;
    return moduli >= 8 ? level[moduli - 8] : td_level_of_few(most[moduli - 2], k);
}

/* td_level for the first of TD_COMPLEX_MODULI; k counts real elements, two for each complex one.
 * Its tables are printed by that script, too. */
TD_BOTH int td_complex_level(int moduli, int64_t k)
{
    const int64_t most[] = {167, 2535, 37694, 539708, 7575164, 105237554};
    const int level[] = {7781,  8732,  9666,  10590, 11499, 12372, 13238, 14090,
                         14935, 15764, 16556, 17315, 18048, 18715, 19337};
    return moduli >= 8 ? level[moduli - 8] : td_level_of_few(most[moduli - 2], k);
}

#endif
