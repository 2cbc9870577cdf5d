#include "pages.h"

#include <stdbool.h>

static bool is_apart(td_xt_pages x, td_xt_pages y) { return x.end < y.start || y.end < x.start; }

static td_xt_pages join(td_xt_pages x, td_xt_pages y)
{
    return (td_xt_pages){x.start < y.start ? x.start : y.start, x.end > y.end ? x.end : y.end};
}

/* Adds a range to `count` others, which are in order and apart; returns how many there are then. */
static int add(td_xt_pages *pages, int count, td_xt_pages own)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (is_apart(pages[i], own))
            pages[kept++] = pages[i];
        else
            own = join(pages[i], own);
    }
    int at = kept;
    for (; at > 0 && pages[at - 1].start > own.start; at--) pages[at] = pages[at - 1];
    pages[at] = own;
    return kept + 1;
}

int td_xt_merge_pages(td_xt_pages *pages, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        const td_xt_pages own = pages[i];
        left = add(pages, left, own);
    }
    return left;
}
