/* layout.cpp - tandem.h in C++: it compiles, and its types are C's. */
#include "layout.h"

#include <cstddef>
#include <type_traits>

template <typename T, std::size_t size, std::size_t alignment> constexpr bool is_plain()
{
    return sizeof(T) == size && alignof(T) == alignment && std::is_standard_layout<T>::value &&
           std::is_trivial<T>::value;
}

static_assert(is_plain<tandem_df, 8, 8>(), "tandem_df");
static_assert(is_plain<tandem_ts, 12, 4>(), "tandem_ts");
static_assert(is_plain<tandem_dd, 16, 16>(), "tandem_dd");
static_assert(is_plain<tandem_ds, 12, 4>(), "tandem_ds");

double layout_df(const tandem_df *x, size_t l, int i) { return i ? x[l].lo : x[l].hi; }
double layout_dd(const tandem_dd *x, size_t l, int i) { return i ? x[l].lo : x[l].hi; }
double layout_ds(const tandem_ds *x, size_t l, int i) { return i ? x[l].lo : x[l].hi; }

double layout_ts(const tandem_ts *x, size_t l, int i)
{
    return i == 0 ? x[l].x : i == 1 ? x[l].y : x[l].z;
}

double layout_sum(tandem_df df, tandem_ts ts, tandem_dd dd, tandem_ds ds)
{
    return df.hi + df.lo + ts.x + ts.y + ts.z + dd.hi + dd.lo + ds.hi + ds.lo;
}
