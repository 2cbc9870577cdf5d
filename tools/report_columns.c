#include "tools/report_columns.h"

#include <string.h>

/* ---- the kind of the calls ---- */

static const report_call *kind_of(const void *row)
{
    const report_row *r = row;
    return &(r->now ? r->now : r->before)->call;
}

value report_short_name(const void *row)
{
    static const char start[] = "cublas";
    const char *name = kind_of(row)->function;
    const bool begins = strncmp(name, start, strlen(start)) == 0;
    return value_text(begins ? name + strlen(start) : name);
}

value report_letters(const void *row)
{
    return value_text(td_letters_print(&kind_of(row)->letters).text);
}

static value integer(long long x) { return (value){.kind = COUNT_VALUE, .count = x}; }

static value function_of(const void *row) { return value_text(kind_of(row)->function); }
static value type_of(const void *row) { return value_text(kind_of(row)->type); }
static value m_of(const void *row) { return integer(kind_of(row)->m); }
static value n_of(const void *row) { return integer(kind_of(row)->n); }
static value k_of(const void *row) { return integer(kind_of(row)->k); }
static value batch_of(const void *row) { return integer(kind_of(row)->batch); }
static value site_of(const void *row) { return value_text(kind_of(row)->site); }

/* ---- what became of them; nothing where there are none ---- */

static value mode(const merged_line *line) { return value_text(line ? line->call.mode : ""); }
static value calls(const merged_line *line)
{
    return value_count(line ? (long long)line->call.count : 0);
}
static value seconds(const merged_line *line) { return value_number(line ? line->seconds : -1.0); }

static const report_verified *verified(const merged_line *line)
{
    return line && line->call.is_verified ? &line->call.verified : NULL;
}

static value worst(const merged_line *line)
{
    const report_verified *v = verified(line);
    return value_number(v ? v->worst : -1.0);
}

static const merged_line *now(const void *row) { return ((const report_row *)row)->now; }
static const merged_line *before(const void *row) { return ((const report_row *)row)->before; }

static value mode_of(const void *row) { return mode(now(row)); }
static value mode_before(const void *row) { return mode(before(row)); }
static value calls_of(const void *row) { return calls(now(row)); }
static value calls_before(const void *row) { return calls(before(row)); }
static value seconds_of(const void *row) { return seconds(now(row)); }
static value seconds_before(const void *row) { return seconds(before(row)); }
static value worst_of(const void *row) { return worst(now(row)); }
static value worst_before(const void *row) { return worst(before(row)); }

/* ---- of the reports alone ---- */

static value scaled(double number, double scale) { return value_number(number * scale); }

static value untimed_of(const void *row) { return integer((long long)now(row)->untimed); }
static value one_ms_of(const void *row) { return scaled(merged_seconds_of_one(now(row)), 1e3); }
static value one_of(const void *row) { return value_number(merged_seconds_of_one(now(row))); }
static value gigaflops_of(const void *row) { return scaled(merged_rate(now(row)), 1e-9); }
static value native_ms_of(const void *row) { return scaled(now(row)->call.native_seconds, 1e3); }
static value native_of(const void *row) { return value_number(now(row)->call.native_seconds); }
static value gain_of(const void *row) { return value_number(merged_gain(now(row))); }
static value repaired_of(const void *row) { return value_count(now(row)->call.repaired); }
static value planes_of(const void *row) { return value_count(now(row)->call.planes); }

/* Nothing to show where binary64 made no tile. */
static value tiles_of(const void *row)
{
    const long long tiles = now(row)->call.tiles;
    return value_count(tiles > 0 ? tiles : -1);
}

static value mean_of(const void *row)
{
    const report_verified *v = verified(now(row));
    return value_number(v ? v->mean : -1.0);
}

static value ulps_of(const void *row)
{
    const report_verified *v = verified(now(row));
    return value_number(v ? v->worst_ulps : -1.0);
}

/* In |A||B| alone: a unit in the last place of C is at most 2^-52 of it. */
static value bound_of(const void *row)
{
    const report_verified *v = verified(now(row));
    return value_number(v && v->bound >= 0.0 ? v->bound + v->bound_ulps * 0x1p-52 : -1.0);
}

static value outside_of(const void *row)
{
    const report_verified *v = verified(now(row));
    return integer(v ? (long long)v->outside : 0);
}

static value unjudged_of(const void *row)
{
    const report_verified *v = verified(now(row));
    return integer(v ? (long long)v->unjudged : 0);
}

static value because_of(const void *row)
{
    const report_call *c = &now(row)->call;
    return value_text(c->native_reason[0] ? c->native_reason : c->choice);
}

#define KIND_COLUMNS                                                                               \
    {.title = "cublas...", .is_left = true, .of = report_short_name},                              \
        {.name = "function", .of = function_of}, {.name = "type", .of = type_of},                  \
        {.title = "op", .name = "op", .is_left = true, .of = report_letters},                      \
        {.title = "m", .name = "m", .of = m_of}, {.title = "n", .name = "n", .of = n_of},          \
        {.title = "k", .name = "k", .of = k_of},                                                   \
    {                                                                                              \
        .title = "batch", .name = "batch", .silence = "1", .of = batch_of                          \
    }
#define SITE_COLUMN                                                                                \
    {                                                                                              \
        .title = "from", .name = "site", .silence = "", .none = "", .is_left = true, .of = site_of \
    }

const column report_columns[] = {
    KIND_COLUMNS,
    {.title = "mode", .name = "mode", .is_left = true, .of = mode_of},
    {.title = "calls", .name = "calls", .of = calls_of},
    {.title = "untimed", .name = "untimed", .silence = "0", .of = untimed_of},
    {.title = "s, all", .name = "seconds", .silence = "-", .decimals = 4, .of = seconds_of},
    {.title = "ms, one", .silence = "-", .decimals = 3, .of = one_ms_of},
    {.name = "seconds_of_one", .of = one_of},
    {.title = "GFLOP/s", .name = "gflops", .silence = "-", .decimals = 1, .of = gigaflops_of},
    {.title = "native ms", .silence = "-", .decimals = 3, .of = native_ms_of},
    {.name = "native_seconds", .of = native_of},
    {.title = "gain", .name = "gain", .silence = "-", .decimals = 2, .of = gain_of},
    {.title = "repaired", .name = "repaired", .silence = "-", .of = repaired_of},
    {.title = "tiles", .name = "tiles", .silence = "-", .of = tiles_of},
    {.title = "planes", .name = "planes", .silence = "-", .of = planes_of},
    {.title = "error", .name = "worst", .silence = "-", .decimals = SHORT_NUMBER, .of = worst_of},
    {.title = "mean", .name = "mean", .silence = "-", .decimals = SHORT_NUMBER, .of = mean_of},
    {.title = "bound", .name = "bound", .silence = "-", .decimals = SHORT_NUMBER, .of = bound_of},
    {.title = "ulps",
     .name = "worst_ulps",
     .silence = "-",
     .decimals = SHORT_NUMBER,
     .of = ulps_of},
    {.title = "outside", .name = "outside", .silence = "0", .of = outside_of},
    {.title = "unjudged", .name = "unjudged", .silence = "0", .of = unjudged_of},
    SITE_COLUMN,
    {.title = "because",
     .name = "because",
     .silence = "",
     .none = "",
     .is_left = true,
     .of = because_of},
    {.of = NULL},
};

/* ---- of a difference ---- */

/* Of one call, so that it says something where there are more or fewer. */
static value speed_up_of(const void *row)
{
    const double was = before(row) ? merged_seconds_of_one(before(row)) : -1.0;
    const double is = now(row) ? merged_seconds_of_one(now(row)) : -1.0;
    return value_number(was > 0.0 && is > 0.0 ? was / is : -1.0);
}

const column report_difference_columns[] = {
    KIND_COLUMNS,
    {.title = "mode before", .name = "mode_before", .is_left = true, .of = mode_before},
    {.title = "now", .name = "mode", .is_left = true, .of = mode_of},
    {.title = "calls before", .name = "calls_before", .of = calls_before},
    {.title = "now", .name = "calls", .of = calls_of},
    {.title = "s before",
     .name = "seconds_before",
     .silence = "-",
     .decimals = 4,
     .of = seconds_before},
    {.title = "now", .name = "seconds", .silence = "-", .decimals = 4, .of = seconds_of},
    {.title = "speed-up", .name = "speed_up", .silence = "-", .decimals = 2, .of = speed_up_of},
    {.title = "error before",
     .name = "worst_before",
     .silence = "-",
     .decimals = SHORT_NUMBER,
     .of = worst_before},
    {.title = "now", .name = "worst", .silence = "-", .decimals = SHORT_NUMBER, .of = worst_of},
    SITE_COLUMN,
    {.of = NULL},
};
