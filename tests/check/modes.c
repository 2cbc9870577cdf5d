#include "modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/engine.h"

/* tests/arithmetic/test_accumulate.c for a superblock; 3 v^2 to add each, and what splitting loses. */
static double proven_df(int64_t k)
{
    return (225.0 + 8.0 * 16.0 + 72.0 + 3.0 * 16.0 + 18.0 + 3.0 * (double)(k / 512) + 2.0) *
           0x1p-48;
}

static double proven_ts(int64_t k)
{
    (void)k;
    return 0x1p-59;
}

static double proven_dd(int64_t k)
{
    (void)k;
    return 0x1p-96;
}

static double proven_ds(int64_t k)
{
    (void)k;
    return 0x1p-76;
}

static double none(int64_t k)
{
    (void)k;
    return 0.0;
}

/* One chain of td_dd_accumulate: kernels/pair_tmpl.h. */
static double one_chain(int64_t k)
{
    const double terms = (double)k;
    return (terms * terms / 2.0 + 5.5 * terms + 9.0) * 0x1p-106;
}

static const mode modes[] = {
    {&ref_df_format, false, 0x1p-43, 0x1p-43, proven_df, none},
    {&ref_ts_format, true, 0x1p-66, 0x1p-66, proven_ts, one_chain},
    {&ref_dd_format, true, 0x1p-101, 0x1p-101, proven_dd, one_chain},
    {&ref_ds_format, true, 0x1p-77, 0x1p-77, proven_ds, one_chain},
};

static const mode *find(const char *name)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].format->mode, name) == 0) return &modes[i];
    fprintf(stderr, "tests/check/modes.c knows nothing of mode %s\n", name);
    exit(1);
}

const mode *mode_after(const mode *m)
{
    bool is_next = !m;
    for (const td_engine *const *engine = td_engines; *engine; engine++) {
        if (!(*engine)->run) continue;
        const mode *here = find((*engine)->name);
        if (is_next) return here;
        is_next = here == m;
    }
    return NULL;
}

double mode_error(const mode *m, const ref_gemm *p, int64_t i, int64_t j, double value)
{
    const ref_distance d = ref_measure(p, i, j, value);
    return m->rounds_sum ? d.unrounded : d.error;
}
