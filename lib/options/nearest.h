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
 * edits, and no more than half of its characters; or if it is a part of the candidate, in letters
 * of any case. */
void td_nearest_offer(td_nearest *search, const char *candidate);

/* "; did you mean NAME?" in the buffer, for the end of a message; "" if none is near. */
enum { TD_QUESTION_BYTES = 96 };
const char *td_nearest_ask(const td_nearest *search, char text[TD_QUESTION_BYTES]);

#endif
