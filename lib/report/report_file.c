#define _GNU_SOURCE 1
#include "report_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool fail(int error)
{
    errno = error;
    return false;
}

/* /dev/stdout may lead to a regular file that somebody has open: it must not be replaced. */
static bool is_descriptor(const char *path)
{
    return strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           strncmp(path, "/proc/", 6) == 0;
}

/* Follows links, so that a rename replaces the file and not the link. */
static bool resolve(char path[TD_PATH_BYTES])
{
    struct stat link;
    char *real = realpath(path, NULL);
    if (real) {
        const bool fits = strlen(real) < TD_PATH_BYTES;
        if (fits) strcpy(path, real);
        free(real);
        return fits || fail(ENAMETOOLONG);
    }
    if (errno != ENOENT) return false;
    return lstat(path, &link) != 0 || fail(ENOLINK);
}

bool td_report_file_open(td_report_file *file, const td_file_name *name)
{
    *file = (td_report_file){0};
    if (!td_file_name_path(name, file->path)) return false;
    file->is_in_place = is_descriptor(file->path);
    if (!file->is_in_place && !resolve(file->path)) return false;

    struct stat old;
    const bool exists = stat(file->path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) return fail(EISDIR);
    if (exists && !S_ISREG(old.st_mode)) file->is_in_place = true;
    if (!file->is_in_place) {
        if (exists && access(file->path, W_OK) != 0) return false;
        if (td_file_can_replace(file->path, exists ? &old : NULL)) return true;
        if (!exists) return false;
        file->is_in_place = true;
    }
    return access(file->path, W_OK) == 0;
}

/* As a shell's > does it; what is behind a descriptor that the process has is appended to. */
static bool write_in_place(const td_report_file *file, const char *text, size_t length)
{
    const int how = is_descriptor(file->path) ? O_APPEND : O_TRUNC;
    const int descriptor = td_file_open(file->path, O_WRONLY | how, 0);
    if (descriptor < 0) return false;
    const bool is_written = td_file_write(descriptor, text, length);
    const int error = errno;
    const bool is_closed = close(descriptor) == 0;
    return is_written ? is_closed : fail(error);
}

bool td_report_file_write(const td_report_file *file, bool is_empty, const char *text,
                          size_t length)
{
    struct stat old;
    const bool exists = stat(file->path, &old) == 0;
    if (is_empty && exists && S_ISREG(old.st_mode) && old.st_size > 0) return true;
    if (file->is_in_place) return write_in_place(file, text, length);
    const bool is_first = is_empty && !exists;
    return td_file_replace(file->path, 0666, exists ? &old : NULL, is_first, text, length) ||
           (is_first && errno == EEXIST);
}
