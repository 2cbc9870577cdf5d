#include "columns.h"

/* Products of fewer columns than LEAST are slower. An eighth of C leaves a sixteenth of the
 * triangle's elements to be made in vain. */
enum { LEAST = 128, SHARES = 8, UNIT = 64 };

int64_t td_dgemm_columns(int64_t n)
{
    return td_smaller(n, td_larger(LEAST, td_round_up(td_ceil_div(n, SHARES), UNIT)));
}

td_part td_dgemm_rows(td_region region, const td_part *part)
{
    const int64_t first = part->j << region.row_shift,
                  end = (part->j + part->n) << region.row_shift, behind = part->i + part->m;
    td_part rows = *part;
    if (region.kind == TD_REGION_LOWER) {
        rows.i = td_larger(part->i, first);
        rows.m = (int)(behind - rows.i);
    } else if (region.kind == TD_REGION_UPPER) {
        rows.m = (int)(td_smaller(behind, end) - part->i);
    }
    return rows;
}
