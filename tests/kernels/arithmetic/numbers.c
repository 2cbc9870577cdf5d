#include "numbers.h"

#include <math.h>

#include "tests/support/bits.h"

const number_format formats[FORMAT_COUNT] = {
    [SINGLE] = {1, {24}},     [DOUBLE] = {1, {53}}, [DF] = {2, {24, 24}},
    [TS] = {3, {24, 24, 24}}, [DD] = {2, {53, 53}}, [DS] = {2, {53, 24}},
};

double half_ulp(format_id f, int i, double part)
{
    const int bits = formats[f].bits[i], least = bits == 24 ? -149 : -1074;
    const int ulp = ilogb(part) - bits + 1;
    return ldexp(0.5, ulp < least ? least : ulp);
}

double round_part(format_id f, int i, double x)
{
    return formats[f].bits[i] == 24 ? (double)(float)x : x;
}

int is_normalised(format_id f, const double *x)
{
    for (int i = 1; i < formats[f].parts; i++)
        if (x[i] != 0.0 && (x[i - 1] == 0.0 || fabs(x[i]) > half_ulp(f, i - 1, x[i - 1]))) return 0;
    return 1;
}

void truncate_number(format_id f, double *x)
{
    for (int i = 1; i < formats[f].parts; i++)
        if (x[i - 1] == 0.0 || fabs(x[i]) > half_ulp(f, i - 1, x[i - 1])) x[i] = 0.0;
}

double random_part(test_random *r, format_id f, int i, int low, int high)
{
    uint64_t fraction = random_bits(r) & UINT64_C(0x800fffffffffffff);
    if (formats[f].bits[i] == 24) fraction &= UINT64_C(0xffffffffe0000000);
    return double_of(fraction | (uint64_t)(random_int(r, low, high) + 1023) << 52);
}

void random_lower(test_random *r, format_id f, double *x)
{
    for (int i = 1; i < formats[f].parts; i++) {
        if (x[i - 1] == 0.0) {
            x[i] = 0.0;
            continue;
        }
        const double half = half_ulp(f, i - 1, x[i - 1]);
        double size = random_uniform(r);
        const int how = random_int(r, 0, 15);
        if (how < 4) size = 1.0 - ldexp(1.0, -random_int(r, 1, formats[f].bits[i]));
        if (how >= 12 && how < 14) size = ldexp(size, -random_int(r, 1, 30));
        if (how == 14) size = 1.0;
        if (how == 15) size = 0.0;
        x[i] = round_part(f, i, random_int(r, 0, 1) ? -size * half : size * half);
    }
}

void random_number(test_random *r, format_id f, int low, int high, double *x)
{
    x[0] = random_part(r, f, 0, low, high);
    random_lower(r, f, x);
}

void change_number(test_random *r, format_id f, double *x)
{
    const int i = random_int(r, 0, formats[f].parts - 1), how = random_int(r, 0, 5);
    if (how == 0)
        x[i] = -x[i];
    else if (how == 1)
        x[i] = round_part(f, i, ldexp(x[i], random_int(r, -2, 2)));
    else if (how == 2 && i > 0)
        x[i] = x[i - 1] == 0.0 ? 0.0 : half_ulp(f, i - 1, x[i - 1]) * random_int(r, -1, 1);
    else
        x[i] = round_part(
            f, i,
            x[i] * (1.0 + ldexp(random_uniform(r) - 0.5, -random_int(r, 0, formats[f].bits[i]))));
    truncate_number(f, x);
}
