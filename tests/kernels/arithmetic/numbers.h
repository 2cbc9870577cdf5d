/* numbers.h - the formats by number, and numbers of a format by their parts: what the generic cases
 * and tests use. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "tests/support/random.h"

enum { MAX_PARTS = 3 };

typedef enum { SINGLE, DOUBLE, DF, TS, DD, DS, FORMAT_COUNT } format_id;

typedef struct {
    int parts;
    int bits[MAX_PARTS]; /* of the significand of each part, 24 or 53 */
} number_format;

extern const number_format formats[FORMAT_COUNT];

/* Half a unit in the last place of part i, which is not 0. */
double half_ulp(format_id f, int i, double part);

/* x rounded to what part i can hold. */
double round_part(format_id f, int i, double x);

/* Each part is at most half a unit in the last place of the one before, which may be a tie; parts
 * after 0 are 0. */
int is_normalised(format_id f, const double *x);

/* Makes x normalised by setting parts to 0. */
void truncate_number(format_id f, double *x);

/* A real number with an exponent from low to high. */
double random_part(test_random *r, format_id f, int i, int low, int high);

/* Lower parts for the first part x[0], often at an end of their range; x is normalised. */
void random_lower(test_random *r, format_id f, double *x);

/* Changes one part, a little or a lot; x stays normalised. */
void change_number(test_random *r, format_id f, double *x);

/* A normalised number of such an exponent. */
void random_number(test_random *r, format_id f, int low, int high, double *x);

#endif
