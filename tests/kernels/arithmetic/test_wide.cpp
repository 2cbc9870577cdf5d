/* test_wide.cpp - whole numbers of several limbs against __int128, and their rounding to binary64
 * against MPFR. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <mpfr.h>

#include "kernels/arithmetic/wide.h"
#include "tests/support/bits.h"
extern "C" {
#include "tests/support/random.h"
#include "tests/support/test.h"
}

namespace
{

enum { ROUNDS = 300000 };

void stop(const char *what, int round)
{
    std::printf("%s: wrong in round %d\n", what, round);
    std::exit(1);
}

/* Numbers of any size with runs of zeros and ones, so that ties and carries are not rare. */
template <int limbs> td_wide<limbs> any(test_random *r)
{
    td_wide<limbs> x;
    const int length = random_int(r, 0, 32 * limbs);
    const uint32_t sign = random_int(r, 0, 1) ? ~0u : 0u;
    for (int i = 0; i < limbs; i++) {
        const int kind = random_int(r, 0, 3), bits = length - 32 * i;
        const uint32_t word = kind == 0   ? 0u
                              : kind == 1 ? ~0u
                              : kind == 2 ? (uint32_t)random_bits(r)
                                          : 1u << random_int(r, 0, 31);
        const uint32_t kept = bits >= 32 ? ~0u : bits <= 0 ? 0u : (1u << bits) - 1;
        x.limb[i] = (word & kept) ^ sign;
    }
    return x;
}

template <int limbs> void set(mpfr_t y, const td_wide<limbs> &x)
{
    mpfr_set_si(y, (int32_t)x.limb[limbs - 1], MPFR_RNDN);
    for (int i = limbs - 2; i >= 0; i--) {
        mpfr_mul_2ui(y, y, 32, MPFR_RNDN);
        mpfr_add_ui(y, y, x.limb[i], MPFR_RNDN);
    }
}

/* Results all over the range, at both its ends too. */
template <int limbs> void test_rounding()
{
    test_random r = random_start(test_seed());
    mpfr_t exact, magnitude, again;
    mpfr_inits2(64 * limbs, exact, magnitude, again, (mpfr_ptr)0);
    for (int round = 0; round < ROUNDS; round++) {
        const td_wide<limbs> x = any<limbs>(&r);
        const int e = round % 4 == 0   ? random_int(&r, -1200 - 32 * limbs, -1000)
                      : round % 4 == 1 ? random_int(&r, 1024 - 32 * limbs, 1030)
                                       : random_int(&r, -1500, 1200);
        set(exact, x);
        if (td_wide_is_negative(x) != (mpfr_sgn(exact) < 0)) stop("sign", round);
        mpfr_abs(magnitude, exact, MPFR_RNDN);
        set(again, td_wide_magnitude(x)); /* may have its highest bit set */
        if (mpfr_sgn(again) >= 0 && !mpfr_equal_p(again, magnitude)) stop("magnitude", round);
        mpfr_mul_2si(exact, exact, e, MPFR_RNDN);
        const double want = mpfr_zero_p(exact) ? 0.0 : mpfr_get_d(exact, MPFR_RNDN);
        const double got = td_wide_round64(x, e);
        if (bits_of(got) != bits_of(want)) {
            std::printf("%d limbs, e = %d: %a, not %a\n", limbs, e, got, want);
            stop("rounding", round);
        }
    }
    mpfr_clears(exact, magnitude, again, (mpfr_ptr)0);
}

/* Columns of any size become limbs. */
void test_carries()
{
    test_random r = random_start(test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        int64_t column[4];
        unsigned __int128 want = 0;
        for (int i = 0; i < 4; i++) {
            column[i] = (int64_t)random_bits(&r) >> random_int(&r, 1, 63);
            want += (unsigned __int128)(__int128)column[i] << (32 * i);
        }
        const td_wide<4> x = td_wide_carry<4>(column);
        for (int i = 0; i < 4; i++)
            if (x.limb[i] != (uint32_t)(want >> (32 * i))) stop("carries", round);
    }
}

} // namespace

int main()
{
    test_carries();
    test_rounding<2>();
    test_rounding<3>();
    test_rounding<4>();
    test_rounding<5>();
    test_rounding<8>();
    return 0;
}
