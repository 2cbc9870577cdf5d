#include "matrix_market.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common.h"

typedef struct {
    FILE *file;
    const char *path;
    long number;     /* of the line read last, from 1 */
    char text[1025]; /* that line; the format allows 1024 characters */
} line_reader;

typedef struct {
    bool is_coordinate; /* else array: every entry, by columns */
    bool is_symmetric;  /* only the lower triangle is in the file */
    long rows, columns, entries;
} header;

static bool fail(const line_reader *in, const char *what)
{
    complain("%s:%ld: %s", in->path, in->number, what);
    return false;
}

static bool is_blank(const char *text)
{
    while (isspace((unsigned char)*text)) text++;
    return !*text;
}

static bool next_line(line_reader *in)
{
    if (!fgets(in->text, sizeof in->text, in->file)) return false;
    in->number++;
    return true;
}

/* The next line that is neither blank nor a comment. */
static bool next_data_line(line_reader *in)
{
    while (next_line(in))
        if (in->text[0] != '%' && !is_blank(in->text)) return true;
    return false;
}

/* Takes a whole number from [1, max] off *cursor. */
static bool take_integer(const char **cursor, long max, long *value)
{
    char *end = NULL;

    errno = 0;
    *value = strtol(*cursor, &end, 10);
    if (end == *cursor || errno || *value < 1 || *value > max) return false;
    *cursor = end;
    return true;
}

/* The end of the number that goes on behind its digits with an exponent of Fortran's, 1.5D+01, or
 * 1.5-101 of three digits; `end` if there is none. */
static const char *take_fortran_exponent(const char *start, const char *end, double *value)
{
    char text[sizeof((line_reader *)0)->text + 2], *rest = NULL;
    const char *exponent = *end == 'd' || *end == 'D' ? end + 1 : end;
    const ptrdiff_t digits = end - start;

    if (exponent == end && *end != '+' && *end != '-') return end;
    snprintf(text, sizeof text, "%.*se%s", (int)digits, start, exponent);
    const double whole = strtod(text, &rest);
    if (rest <= text + digits + 1) return end;
    *value = whole;
    return exponent + (rest - (text + digits + 1));
}

/* Takes a finite number off *cursor. */
static bool take_number(const char **cursor, double *value)
{
    char *end = NULL;

    *value = strtod(*cursor, &end);
    if (end == *cursor) return false;
    *cursor = take_fortran_exponent(*cursor, end, value);
    return isfinite(*value);
}

static bool read_banner(line_reader *in, header *h)
{
    char banner[16], object[16], format[16], field[16], symmetry[16];

    if (!next_line(in) ||
        sscanf(in->text, "%15s %15s %15s %15s %15s", banner, object, format, field, symmetry) !=
            5 ||
        strcmp(banner, "%%MatrixMarket") != 0 || strcasecmp(object, "matrix") != 0)
        return fail(in,
                    "not a Matrix Market matrix: the line '%%MatrixMarket matrix ...' is missing");
    h->is_coordinate = !strcasecmp(format, "coordinate");
    h->is_symmetric = !strcasecmp(symmetry, "symmetric");
    if (!h->is_coordinate && strcasecmp(format, "array") != 0)
        return fail(in, "unknown format: allowed are coordinate and array");
    if (strcasecmp(field, "real") != 0 && strcasecmp(field, "integer") != 0)
        return fail(in, "unsupported field: allowed are real and integer");
    if (!h->is_symmetric && strcasecmp(symmetry, "general") != 0)
        return fail(in, "unsupported symmetry: allowed are general and symmetric");
    return true;
}

static bool read_sizes(line_reader *in, header *h)
{
    const char *cursor = in->text;

    if (!next_data_line(in)) return fail(in, "the line with the sizes is missing");
    if (!take_integer(&cursor, INT_MAX, &h->rows) || !take_integer(&cursor, INT_MAX, &h->columns))
        return fail(in, "rows and columns must be whole numbers from 1 to 2147483647");
    if (h->is_symmetric && h->rows != h->columns) return fail(in, "symmetric but not square");
    if (h->is_coordinate) {
        if (!take_integer(&cursor, LONG_MAX, &h->entries))
            return fail(in, "the number of entries must be a whole number from 1");
    } else {
        h->entries = h->is_symmetric ? h->rows * (h->rows + 1) / 2 : h->rows * h->columns;
    }
    return is_blank(cursor) || fail(in, "more on the line than the sizes");
}

/* Moves to the place of the next entry of an array file; the first entry is at (1, 1). */
static void advance(const header *h, long *row, long *column)
{
    if (++*row <= h->rows) return;
    ++*column;
    *row = h->is_symmetric ? *column : 1;
}

static bool read_entry(line_reader *in, const header *h, long *row, long *column, double *value)
{
    const char *cursor = in->text;

    if (!next_data_line(in)) return fail(in, "the file ends before its last entry");
    if (h->is_coordinate) {
        if (!take_integer(&cursor, h->rows, row)) return fail(in, "row outside the matrix");
        if (!take_integer(&cursor, h->columns, column))
            return fail(in, "column outside the matrix");
        if (h->is_symmetric && *row < *column)
            return fail(in, "entry above the diagonal of a symmetric matrix");
    } else {
        advance(h, row, column);
    }
    if (!take_number(&cursor, value)) return fail(in, "the entry is not a finite number");
    return is_blank(cursor) || fail(in, "more on the line than one entry");
}

static bool read_entries(line_reader *in, const header *h, double *entries)
{
    long row = 0, column = 1;

    for (long i = 0; i < h->entries; i++) {
        double value = 0.0;
        if (!read_entry(in, h, &row, &column, &value)) return false;
        entries[(row - 1) + (column - 1) * h->rows] += value;
        if (h->is_symmetric && row != column) entries[(column - 1) + (row - 1) * h->rows] += value;
    }
    return !next_data_line(in) || fail(in, "more entries than the file announces");
}

bool matrix_market_read(const char *path, dense_matrix *matrix)
{
    line_reader in = {.file = fopen(path, "r"), .path = path};
    header h = {0};
    double *entries = NULL;
    bool is_read = false;

    if (!in.file) {
        complain("%s: %s", path, strerror(errno));
        return false;
    }
    if (!read_banner(&in, &h) || !read_sizes(&in, &h)) goto out;
    entries = host_matrix((int)h.rows, (int)h.columns);
    if (!entries || !read_entries(&in, &h, entries)) goto out;
    *matrix = (dense_matrix){(int)h.rows, (int)h.columns, entries};
    entries = NULL;
    is_read = true;
out:
    free(entries);
    fclose(in.file);
    return is_read;
}

static bool is_symmetric(const dense_matrix *a)
{
    if (a->rows != a->columns) return false;
    for (ptrdiff_t j = 0, n = a->rows; j < n; j++)
        for (ptrdiff_t i = 0; i < j; i++)
            if (a->entries[i + j * n] != a->entries[j + i * n]) return false;
    return true;
}

bool matrix_market_read_symmetric(const char *path, int most, dense_matrix *matrix)
{
    dense_matrix a = {0};

    if (!matrix_market_read(path, &a)) return false;
    if (!is_symmetric(&a)) {
        complain("%s: the matrix is not symmetric", path);
    } else if (a.rows > most) {
        complain("%s: order %d is above %d", path, a.rows, most);
    } else {
        *matrix = a;
        return true;
    }
    free(a.entries);
    return false;
}

const char *matrix_name(const char *path, const char *made)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    if (!path) return made;
    return slash ? slash + 1 : path;
}
