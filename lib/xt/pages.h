/* pages.h - ranges of memory that are to be pinned, each once. Pure: no CUDA calls. */
#ifndef TD_XT_PAGES_H
#define TD_XT_PAGES_H

/* Bytes from `start` to before `end`, whole pages. */
typedef struct {
    char *start, *end;
} td_xt_pages;

/* Makes one range of those that touch or overlap; returns how many are left, in ascending order. */
int td_xt_merge_pages(td_xt_pages *pages, int count);

#endif
