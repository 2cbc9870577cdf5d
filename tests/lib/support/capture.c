#define _GNU_SOURCE 1
#include "capture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"

static int real_stderr = -1;
static FILE *captured;
static char text[CAPTURE_BYTES];

static void need(int is_good, const char *what)
{
    if (is_good) return;
    perror(what);
    abort();
}

void capture_begin(void)
{
    captured = tmpfile();
    need(captured != NULL, "tmpfile");
    fflush(stderr);
    real_stderr = dup(STDERR_FILENO);
    need(real_stderr >= 0 && dup2(fileno(captured), STDERR_FILENO) >= 0, "dup");
}

const char *capture_end(int *lines)
{
    fflush(stderr);
    need(dup2(real_stderr, STDERR_FILENO) >= 0, "dup2");
    close(real_stderr);
    rewind(captured);
    text[fread(text, 1, sizeof text - 1, captured)] = '\0';
    fclose(captured);
    if (lines) {
        *lines = 0;
        for (const char *c = text; *c; c++) *lines += *c == '\n';
    }
    return text;
}

const char *capture_end_of(int lines, const char *file, int line)
{
    int found;
    (void)capture_end(&found);
    _assert_int_equal((LargestIntegralType)found, (LargestIntegralType)lines, file, line);
    return text;
}

const char *read_text(const char *path)
{
    FILE *in = fopen(path, "r");
    if (!in) return NULL;
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return text;
}

const char *make_folder(void)
{
    static char path[64];
    strcpy(path, "/tmp/tandem-unit-XXXXXX");
    need(mkdtemp(path) != NULL, "mkdtemp");
    return path;
}

void remove_folder(const char *path)
{
    char name[512];
    DIR *folder = opendir(path);
    need(folder != NULL, path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') unlink(name);
    }
    closedir(folder);
    need(rmdir(path) == 0, path);
}
