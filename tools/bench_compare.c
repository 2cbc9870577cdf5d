#include "tools/bench_compare.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word or a number of a text; of length 0: the text's end. */
typedef struct {
    const char *start;
    size_t length;
    bool is_number;
    bool is_real; /* a number with a point or an exponent */
} token;

typedef struct {
    const char *text, *at;
    long line; /* of `at`, from 1 */
} reader;

static bool is_digit(char c) { return isdigit((unsigned char)c); }

static bool is_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at)) at++;
    return at;
}

static const char *skip_sign(const char *at) { return *at == '+' || *at == '-' ? at + 1 : at; }

/* The end of the exponent at `at`, or `at` if there is none. */
static const char *skip_exponent(const char *at)
{
    if (!*at || !strchr("eEdD", *at)) return at;
    const char *digits = skip_sign(at + 1);
    return is_digit(*digits) ? skip_digits(digits) : at;
}

/* Characters of the number at `at`, 0 if there is none. Versions (1.2.3) are words. */
static size_t number_length(const char *at, bool *is_real)
{
    const char *whole = skip_sign(at), *end = skip_digits(whole);
    bool has_digits = end > whole;
    *is_real = *end == '.';
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        has_digits = has_digits || end > fraction;
    }
    if (!has_digits) return 0;
    const char *mantissa = end;
    end = skip_exponent(mantissa);
    *is_real = *is_real || end > mantissa;
    return *end == '.' && is_digit(end[1]) ? 0 : (size_t)(end - at);
}

static token next_token(reader *r)
{
    const char *at = r->at;
    for (; isspace((unsigned char)*at); at++) r->line += *at == '\n';
    token t = {.start = at};
    const bool may_be_number = at == r->text || !is_in_word(at[-1]);
    if (may_be_number) t.length = number_length(at, &t.is_real);
    t.is_number = t.length > 0;
    if (!t.is_number) {
        t.is_real = false;
        /* A sign is part of a word, as in -inf. */
        if (may_be_number && skip_sign(at) > at && is_in_word(at[1])) t.length = 1;
        while (is_in_word(at[t.length]) || at[t.length] == '.') t.length++;
        if (t.length == 0 && *at) t.length = 1;
    }
    r->at = at + t.length;
    return t;
}

static bool is_same(const token *a, const token *b)
{
    return a->length == b->length && memcmp(a->start, b->start, a->length) == 0;
}

static double value_of(const token *t)
{
    char *text = strndup(t->start, t->length);
    if (!text) return NAN;
    char *fortran = strpbrk(text, "dD");
    if (fortran) *fortran = 'e';
    const double value = strtod(text, NULL);
    free(text);
    return value;
}

static void keep_place(comparison *c, long line, const token *native, const token *other)
{
    c->line = line;
    snprintf(c->native, sizeof c->native, "%.*s", (int)native->length, native->start);
    snprintf(c->other, sizeof c->other, "%.*s", (int)other->length, other->start);
}

/* Of two numbers that are finite, and not both 0. Large ones are halved, because their difference
 * may overflow; small ones not, because half of the least one is 0. */
static double relative_difference(double a, double b)
{
    const double largest = fmax(fabs(a), fabs(b)), scale = largest > 1.0 ? 0.5 : 1.0;
    return fabs(scale * a - scale * b) / largest / scale;
}

/* Two tokens at the same place that are not written alike; false if they are not numbers that can
 * be compared. */
static bool compare_numbers(comparison *c, long line, const token *native, const token *other)
{
    if (!native->is_number || !other->is_number || !(native->is_real || other->is_real))
        return false;
    const double a = value_of(native), b = value_of(other);
    if (a == b) return true;
    if (!isfinite(a) || !isfinite(b)) return false;
    const double difference = relative_difference(a, b);
    if (difference <= c->difference) return true;
    c->difference = difference;
    keep_place(c, line, native, other);
    return true;
}

/* True if the other native texts have the token there, too. */
static bool do_agree(reader *natives, int count, const token *t)
{
    bool agree = true;
    for (int i = 1; i < count; i++) {
        const token other = next_token(&natives[i]);
        agree = is_same(t, &other) && agree;
    }
    return agree;
}

static void compare_tokens(comparison *c, reader *natives, int count, reader other)
{
    for (c->varying = c->numbers = c->tokens = 0;; c->tokens++) {
        const token n = next_token(&natives[0]), o = next_token(&other);
        const bool agree = do_agree(natives, count, &n);
        if (n.length == 0 && o.length == 0) return;
        if (!agree && n.length > 0 && o.length > 0) {
            c->varying++;
        } else if (!is_same(&n, &o) && !compare_numbers(c, natives[0].line, &n, &o)) {
            c->differs = true;
            keep_place(c, natives[0].line, &n, &o);
            return;
        } else {
            c->numbers += n.is_number;
        }
    }
}

bool are_outputs_alike(const char *a, const char *b)
{
    reader left = {a, a, 1}, right = {b, b, 1};
    for (;;) {
        const token of_left = next_token(&left), of_right = next_token(&right);
        if (of_left.length == 0 || of_right.length == 0) return of_left.length == of_right.length;
    }
}

void compare_outputs(comparison *c, char *const natives[], int count, const char *other)
{
    if (count < 1 || c->differs) return;
    for (int i = 1; i < count; i++) c->varies |= !are_outputs_alike(natives[0], natives[i]);
    reader *readers = c->varies ? NULL : calloc((size_t)count, sizeof *readers);
    if (!readers) return;
    for (int i = 0; i < count; i++) readers[i] = (reader){natives[i], natives[i], 1};
    compare_tokens(c, readers, count, (reader){other, other, 1});
    free(readers);
}
