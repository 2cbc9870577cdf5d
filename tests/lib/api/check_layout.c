/* check_layout.c - the public types in memory: sizes, alignments, offsets, arrays as bytes, and the
 * same from C++. */
#include "tests/support/test.h"

#include <stdalign.h>
#include <string.h>

#include "layout.h"

_Static_assert(sizeof(tandem_df) == 8 && alignof(tandem_df) == 8, "tandem_df");
_Static_assert(sizeof(tandem_ts) == 12 && alignof(tandem_ts) == 4, "tandem_ts");
_Static_assert(sizeof(tandem_dd) == 16 && alignof(tandem_dd) == 16, "tandem_dd");
_Static_assert(sizeof(tandem_ds) == 12 && alignof(tandem_ds) == 4, "tandem_ds");
_Static_assert(offsetof(tandem_df, hi) == 0 && offsetof(tandem_df, lo) == 4, "tandem_df");
_Static_assert(offsetof(tandem_ts, x) == 0 && offsetof(tandem_ts, y) == 4 &&
                   offsetof(tandem_ts, z) == 8,
               "tandem_ts");
_Static_assert(offsetof(tandem_dd, hi) == 0 && offsetof(tandem_dd, lo) == 8, "tandem_dd");
_Static_assert(offsetof(tandem_ds, hi) == 0 && offsetof(tandem_ds, lo) == 8, "tandem_ds");

enum { COUNT = 5 };

/* Another number for each part of each element. */
static float part(size_t l, int i) { return (float)(100 * (l + 1)) + (float)i; }

static float float_at(const void *array, size_t byte)
{
    float x;
    memcpy(&x, (const char *)array + byte, sizeof x);
    return x;
}

static double double_at(const void *array, size_t byte)
{
    double x;
    memcpy(&x, (const char *)array + byte, sizeof x);
    return x;
}

TEST(arrays_are_what_their_bytes_say)
{
    tandem_df df[COUNT];
    tandem_ts ts[COUNT];
    tandem_dd dd[COUNT];
    tandem_ds ds[COUNT];
    for (size_t l = 0; l < COUNT; l++) {
        df[l] = (tandem_df){.hi = part(l, 0), .lo = part(l, 1)};
        ts[l] = (tandem_ts){part(l, 0), part(l, 1), part(l, 2)};
        dd[l] = (tandem_dd){.hi = part(l, 0), .lo = part(l, 1)};
        ds[l] = (tandem_ds){part(l, 0), part(l, 1)};
    }
    for (size_t l = 0; l < COUNT; l++)
        for (int i = 0; i < 3; i++) {
            const float want = part(l, i);
            const size_t at = (size_t)i;
            CHECK(float_at(ts, 12 * l + 4 * at) == want && layout_ts(ts, l, i) == want, "ts");
            if (i == 2) continue;
            CHECK(float_at(df, 8 * l + 4 * at) == want && layout_df(df, l, i) == want, "df");
            CHECK(double_at(dd, 16 * l + 8 * at) == want && layout_dd(dd, l, i) == want, "dd");
            const double lo = float_at(ds, 12 * l + 8), hi = double_at(ds, 12 * l);
            CHECK((i ? lo : hi) == want && layout_ds(ds, l, i) == want, "ds");
        }
}

TEST(scalars_pass_by_value)
{
    const tandem_df df = {1.0f, 2.0f};
    const tandem_ts ts = {4.0f, 8.0f, 16.0f};
    const tandem_dd dd = {32.0, 64.0};
    const tandem_ds ds = {128.0, 256.0f};
    CHECK(layout_sum(df, ts, dd, ds) == 511.0, "%g", layout_sum(df, ts, dd, ds));
}
