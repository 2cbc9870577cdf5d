#define _GNU_SOURCE 1
#include "calibration.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../options/log.h"
#include "../version.h"

/* The file's first line: what it is, and a number that changes with its layout, or with the
 * predictions that its factors multiply. */
#define NAME "tandem calibration "
#define HEAD NAME "3"

enum { LINE_BYTES = 16 + TD_MODE_TEXT + 5 * TD_FACTORS };

/* ---- where ---- */

/* A file name of letters, digits and dots, with a dash for all else. */
static void plain(char *name)
{
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '.') *name = '-';
}

bool td_calibration_path(const td_card *card, int driver, char path[TD_PATH_BYTES])
{
    char name[sizeof card->name + 64], folder[TD_PATH_BYTES];
    snprintf(name, sizeof name, "%s-driver-%d.%d-tandem-%s", card->name, driver / 1000,
             driver % 1000 / 10, TD_VERSION);
    plain(name);
    return td_file_cache_folder(folder) &&
           snprintf(path, TD_PATH_BYTES, "%s/%s.txt", folder, name) < TD_PATH_BYTES;
}

/* ---- writing ---- */

static void print(FILE *out, const td_calibration *c, const td_card *card, int driver)
{
    fprintf(out, HEAD "\ndevice %s\nmultiprocessors %d\ndriver %d\nversion %s\n", card->name,
            card->multiprocessors, driver, TD_VERSION);
    for (int row = 0; row < TD_ROWS; row++) {
        if (!c->is_measured[row]) continue;
        fprintf(out, "%s", td_row_text(row));
        for (int f = 0; f < TD_FACTORS; f++) fprintf(out, " %d", c->factors[row][f]);
        fprintf(out, "\n");
    }
    fprintf(out, "end\n");
}

/* Others may read it and not write it, whatever the umask: it would not be read again. */
bool td_calibration_write(const td_calibration *calibration, const td_card *card, int driver,
                          const char *path)
{
    char *text = NULL;
    size_t length = 0;
    if (!td_file_make_folders(path)) return false;
    FILE *out = open_memstream(&text, &length);
    if (!out) return false;
    print(out, calibration, card, driver);
    const bool is_written =
        fclose(out) == 0 && td_file_replace(path, 0644, NULL, false, text, length, NULL);
    const int error = errno;
    free(text);
    errno = error;
    return is_written;
}

/* ---- reading ---- */

typedef struct {
    FILE *file;
    int number; /* of the line that was read last */
    char text[LINE_BYTES];
} reader;

/* The next line, without its end; NULL if there is none, or it is longer than any should be. */
static char *next_line(reader *r)
{
    r->number++;
    if (!fgets(r->text, sizeof r->text, r->file)) return NULL;
    char *end = strchr(r->text, '\n');
    if (!end) return NULL;
    *end = '\0';
    return r->text;
}

/* The factors that follow a row's name, and nothing else. */
static bool parse_factors(const char *text, signed char factors[TD_FACTORS])
{
    for (int f = 0; f < TD_FACTORS; f++) {
        char *end;
        if (*text++ != ' ' || isspace((unsigned char)*text)) return false;
        const long factor = strtol(text, &end, 10);
        if (end == text || factor < -TD_MOST_FACTOR || factor > TD_MOST_FACTOR) return false;
        factors[f] = (signed char)factor;
        text = end;
    }
    return *text == '\0';
}

/* The row with a name of that length; TD_ROWS if there is none. */
static int find_row(const char *name, size_t length)
{
    int row = 0;
    while (row < TD_ROWS &&
           (strlen(td_row_text(row)) != length || strncmp(td_row_text(row), name, length) != 0))
        row++;
    return row;
}

static bool parse_row(char *line, td_calibration *c)
{
    const size_t length = strcspn(line, " ");
    const int row = length ? find_row(line, length) : TD_ROWS;
    if (row == TD_ROWS || c->is_measured[row]) return false;
    c->is_measured[row] = true;
    return parse_factors(line + length, c->factors[row]);
}

/* True if the next line is just that. */
__attribute__((format(printf, 2, 3))) static bool is_next(reader *r, const char *format, ...)
{
    char wanted[sizeof((td_card *)NULL)->name + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    const char *line = next_line(r);
    return line && strcmp(line, wanted) == 0;
}

static td_calibration_status read_all(reader *r, td_calibration *c, const td_card *card, int driver)
{
    if (!is_next(r, HEAD))
        return strncmp(r->text, NAME, strlen(NAME)) == 0 ? TD_CALIBRATION_OTHER
                                                         : TD_CALIBRATION_DAMAGED;
    if (!is_next(r, "device %s", card->name) ||
        !is_next(r, "multiprocessors %d", card->multiprocessors) ||
        !is_next(r, "driver %d", driver) || !is_next(r, "version %s", TD_VERSION))
        return TD_CALIBRATION_OTHER;
    for (char *line; (line = next_line(r));) {
        if (strcmp(line, "end") == 0)
            return fgetc(r->file) == EOF ? TD_CALIBRATION_READ : TD_CALIBRATION_DAMAGED;
        if (!parse_row(line, c)) break;
    }
    return TD_CALIBRATION_DAMAGED;
}

/* Nobody but this user, and root, may say how the user's products are computed. */
static bool is_trusted(int descriptor)
{
    struct stat file;
    return fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) &&
           (file.st_uid == geteuid() || file.st_uid == 0) && !(file.st_mode & (S_IWGRP | S_IWOTH));
}

td_calibration_status td_calibration_read(td_calibration *calibration, const td_card *card,
                                          int driver, const char *path, int *line)
{
    reader r = {0};
    td_calibration_status status = TD_CALIBRATION_NONE;
    memset(calibration, 0, sizeof *calibration);
    *line = 0;
    const int descriptor = td_file_open(path, O_RDONLY, 0);
    if (descriptor < 0) return status;
    if (!is_trusted(descriptor))
        status = TD_CALIBRATION_UNTRUSTED;
    else if ((r.file = fdopen(descriptor, "r")))
        status = read_all(&r, calibration, card, driver);
    *line = r.number;
    if (r.file)
        fclose(r.file);
    else
        close(descriptor);
    return status;
}

/* What is wrong with a file of that status. */
static void explain(td_calibration_status status, int line, char text[128])
{
    if (status == TD_CALIBRATION_UNTRUSTED)
        snprintf(text, 128,
                 "not a regular file that this user or root owns and no other may write");
    else
        snprintf(text, 128, "line %d: %s", line,
                 status == TD_CALIBRATION_OTHER ? "of another device, driver or version"
                                                : "not as `tandem calibrate` writes it");
}

void td_calibration_use(td_model *model, int driver)
{
    char path[TD_PATH_BYTES], wrong[128];
    int line;
    if (!td_calibration_path(&model->card, driver, path)) return;
    td_calibration *c = malloc(sizeof *c);
    if (!c) return;
    const td_calibration_status status = td_calibration_read(c, &model->card, driver, path, &line);
    if (status == TD_CALIBRATION_READ) {
        for (int row = 0; row < TD_ROWS; row++)
            if (c->is_measured[row]) model->factors[row] = c->factors[row];
        snprintf(model->source, sizeof model->source, "calibrated in %.400s", path);
        return; /* the model has them now */
    }
    free(c);
    if (status == TD_CALIBRATION_NONE) return;
    explain(status, line, wrong);
    td_log(TD_LOG_WARN, "calibration %s: %s; ignored, `tandem calibrate` writes it anew", path,
           wrong);
}
