/* nearest.h - which known name a user may have meant by an unknown one. Pure: no CUDA calls. */
#ifndef TD_NEAREST_H
#define TD_NEAREST_H

/* A search: start with the unknown name alone, {.name = name}, and offer it every known one. */
typedef struct {
    const char *name;
    const char *best; /* of those offered so far the nearest; NULL: none looks like a slip */
    int edits;        /* from name to best; valid if best is not NULL */
} td_nearest;

/* candidate must stay valid as long as the search. A name is near if it takes no more than three
 * edits, and no more than half of its characters. */
void td_nearest_offer(td_nearest *search, const char *candidate);

#endif
