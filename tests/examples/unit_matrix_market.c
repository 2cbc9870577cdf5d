/* The reader of Matrix Market files: what good files give, and the line that each bad file gets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/test.h"
#include "common.h"
#include "matrix_market.h"

const char program_name[] = "unit_matrix_market";

/* Writes the file that the tests read; its name is the same in every message. */
static void write_file(const char *text)
{
    FILE *file = fopen("file.mtx", "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* Reads text, which must give these entries by columns. */
static void expect_entries(const char *text, int rows, int columns, const double *entries)
{
    dense_matrix matrix = {0};

    write_file(text);
    assert_true(matrix_market_read("file.mtx", &matrix));
    assert_int_equal(matrix.rows, rows);
    assert_int_equal(matrix.columns, columns);
    for (int i = 0; i < rows * columns; i++) assert_true(matrix.entries[i] == entries[i]);
    free(matrix.entries);
}

TEST(coordinate_files_are_read)
{
    expect_entries("%%MatrixMarket matrix coordinate real general\n"
                   "% a comment\n\n"
                   "2 3 4\n"
                   "1 1 1.5\n 2 3 -2e3 \n\n1 2 0x1p-3\r\n1 2 1\n",
                   2, 3, (const double[]){1.5, 0, 1.125, 0, 0, -2000});
}

/* 1.1D+01 and, of exponents with three digits, 1.1-101, as Fortran writes them. */
TEST(exponents_of_fortran_are_read)
{
    expect_entries("%%MatrixMarket matrix array real general\n"
                   "3 2\n1.1D+01\n-2.5d-1 \n3D2\r\n0.15-100\n-.5+101\n1e2\n",
                   3, 2, (const double[]){11, -0.25, 300, 1.5e-101, -5e100, 100});
}

TEST(symmetric_files_are_mirrored)
{
    expect_entries("%%MatrixMarket MATRIX Coordinate Integer Symmetric\n2 2 2\n1 1 7\n2 1 -3\n", 2,
                   2, (const double[]){7, -3, -3, 0});
    expect_entries("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", 3, 3,
                   (const double[]){1, 2, 3, 2, 4, 5, 3, 5, 6});
}

TEST(array_files_are_read_by_columns)
{
    expect_entries("%%MatrixMarket matrix array integer general\n2 3\n1\n2\n3\n4\n5\n6\n", 2, 3,
                   (const double[]){1, 2, 3, 4, 5, 6});
}

/* A bad file, and what the message about it says after the program's name. */
typedef struct {
    const char *text;
    const char *message;
} bad_file;

#define REAL      "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define ARRAY     "%%MatrixMarket matrix array real general\n"

static const bad_file bad_files[] = {
    {"", "file.mtx:0: not a Matrix Market matrix"},
    {"2 2 1\n1 1 1\n", "file.mtx:1: not a Matrix Market matrix"},
    {"%%MatrixMarket vector coordinate real general\n", "file.mtx:1: not a Matrix Market matrix"},
    {"%%MatrixMarket matrix dense real general\n", "file.mtx:1: unknown format"},
    {"%%MatrixMarket matrix coordinate complex general\n", "file.mtx:1: unsupported field"},
    {"%%MatrixMarket matrix coordinate pattern general\n", "file.mtx:1: unsupported field"},
    {"%%MatrixMarket matrix coordinate real hermitian\n", "file.mtx:1: unsupported symmetry"},
    {REAL "% only comments\n", "file.mtx:2: the line with the sizes is missing"},
    {REAL "0 2 1\n", "file.mtx:2: rows and columns"},
    {REAL "2 99999999999 1\n", "file.mtx:2: rows and columns"},
    {REAL "2 2\n", "file.mtx:2: the number of entries"},
    {REAL "2 2 1 1\n", "file.mtx:2: more on the line than the sizes"},
    {SYMMETRIC "2 3 1\n", "file.mtx:2: symmetric but not square"},
    {REAL "2 2 2\n1 1 1\n", "file.mtx:3: the file ends before its last entry"},
    {REAL "2 2 1\n3 1 1\n", "file.mtx:3: row outside the matrix"},
    {REAL "2 2 1\n1 0 1\n", "file.mtx:3: column outside the matrix"},
    {SYMMETRIC "2 2 1\n1 2 1\n", "file.mtx:3: entry above the diagonal"},
    {REAL "2 2 1\n1 1\n", "file.mtx:3: the entry is not a finite number"},
    {REAL "2 2 1\n1 1 nan\n", "file.mtx:3: the entry is not a finite number"},
    {REAL "2 2 1\n1 1 1e999\n", "file.mtx:3: the entry is not a finite number"},
    {REAL "2 2 1\n1 1 1 0\n", "file.mtx:3: more on the line than one entry"},
    {REAL "2 2 1\n1 1 1.5D\n", "file.mtx:3: more on the line than one entry"},
    {REAL "2 2 1\n1 1 1.5D+ 1\n", "file.mtx:3: more on the line than one entry"},
    {REAL "2 2 1\n1 1 0x1+1\n", "file.mtx:3: more on the line than one entry"},
    {REAL "2 2 1\n1 1 1D999\n", "file.mtx:3: the entry is not a finite number"},
    {REAL "2 2 1\n1 1 D5\n", "file.mtx:3: the entry is not a finite number"},
    {REAL "2 2 1\n1 1 1\n2 2 1\n", "file.mtx:4: more entries than the file announces"},
    {ARRAY "1 2\n1\n", "file.mtx:3: the file ends before its last entry"},
};

/* Reading path must fail with one line that starts with `message` after the program's name. */
static void expect_message(const char *path, const char *message)
{
    dense_matrix matrix = {-1, -1, NULL};
    char expected[256], seen[256] = "";
    int saved = dup(STDERR_FILENO);
    FILE *output = tmpfile();

    assert_non_null(output);
    dup2(fileno(output), STDERR_FILENO);
    bool is_read = matrix_market_read(path, &matrix);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(output);
    assert_non_null(fgets(seen, sizeof seen, output));
    assert_int_equal(fgetc(output), EOF);
    fclose(output);
    snprintf(expected, sizeof expected, "%s: %s", program_name, message);
    if (strncmp(seen, expected, strlen(expected)) != 0)
        fail_msg("expected '%s', seen '%s'", expected, seen);
    assert_false(is_read);
    assert_int_equal(matrix.rows, -1);
}

TEST(bad_files_get_one_line)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        write_file(bad_files[i].text);
        expect_message("file.mtx", bad_files[i].message);
    }
}

TEST(a_missing_file_is_named)
{
    expect_message("no/such/file.mtx", "no/such/file.mtx: No such file or directory");
}

/* Tests of other builds may run at the same time: each run has a folder of its own. */
static int enter_folder(void **state)
{
    static char folder[] = "/tmp/unit_matrix_market.XXXXXX";

    *state = mkdtemp(folder);
    return *state && chdir(*state) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    remove("file.mtx");
    return rmdir(*state);
}

int main(void) { return test_run(.set_up = enter_folder, .tear_down = leave_folder); }
