/* bench_compare.h - how far the numbers that a program printed in one run are from those that it
 * printed in others. */
#ifndef TD_TOOLS_BENCH_COMPARE_H
#define TD_TOOLS_BENCH_COMPARE_H

#include <stdbool.h>

enum { COMPARISON_TEXT_BYTES = 32 };

/* Start with {0}. */
typedef struct {
    bool differs; /* in a word or a whole number, or in how many there are: then what follows is not
                     compared */
    bool varies;  /* native runs print different numbers of words: then nothing is compared */
    double difference; /* the largest |a - b| / max(|a|, |b|) of two numbers */
    long numbers;      /* of a text, that were compared: 0: the difference says nothing */
    long tokens;       /* words and numbers of a text */
    long varying;      /* those of them that the native runs themselves print differently */
    /* Where the largest difference is, or the first word that differs: the line, counted from 1 (0:
     * there is none), and what both runs have there, cut to what fits. */
    long line;
    char native[COMPARISON_TEXT_BYTES], other[COMPARISON_TEXT_BYTES];
} comparison;

/* Takes the larger of c's difference and that of `other` from the first of `count` texts that
 * native runs printed.
 *
 * A text is a row of numbers and words. Numbers with a point or an exponent, E or D, are compared
 * by their value, also with a whole number in the other text (1.5 with 2); all else must be the
 * same. What the native texts do not agree on themselves, such as times, is passed over. */
void compare_outputs(comparison *c, char *const natives[], int count, const char *other);

/* True if the texts have as many words and numbers. */
bool are_outputs_alike(const char *a, const char *b);

#endif
