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

/* Replaces each %p by the process id. */
static bool expand(const char *pattern, char path[TD_PATH_BYTES])
{
    size_t used = 0;
    while (*pattern) {
        const size_t room = TD_PATH_BYTES - used;
        int length;
        if (strncmp(pattern, "%p", 2) == 0) {
            length = snprintf(path + used, room, "%ld", (long)getpid());
            pattern += 2;
        } else {
            length = snprintf(path + used, room, "%c", *pattern++);
        }
        used += (size_t)length;
        if (used >= TD_PATH_BYTES) return fail(ENAMETOOLONG);
    }
    return true;
}

/* Makes path absolute; follows links if it exists, so that a rename replaces the file and not the link. */
static bool resolve(char path[TD_PATH_BYTES])
{
    char directory[TD_PATH_BYTES], joined[TD_PATH_BYTES];
    char *real = realpath(path, NULL);
    if (real) {
        const bool fits = strlen(real) < TD_PATH_BYTES;
        if (fits) strcpy(path, real);
        free(real);
        return fits || fail(ENAMETOOLONG);
    }
    if (path[0] == '/') return true;
    if (!getcwd(directory, sizeof directory)) return false;
    if (snprintf(joined, sizeof joined, "%s/%s", directory, path) >= TD_PATH_BYTES)
        return fail(ENAMETOOLONG);
    strcpy(path, joined);
    return true;
}

/* A name next to path that only this process uses. */
static bool temporary_name(const char *path, char name[TD_PATH_BYTES])
{
    return snprintf(name, TD_PATH_BYTES, "%s.%ld.tmp", path, (long)getpid()) < TD_PATH_BYTES ||
           fail(ENAMETOOLONG);
}

static int create_temporary(const char *name)
{
    return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
}

static bool can_make_temporary(const char *path)
{
    char name[TD_PATH_BYTES];
    if (!temporary_name(path, name)) return false;
    const int descriptor = create_temporary(name);
    if (descriptor < 0) return false;
    close(descriptor);
    unlink(name);
    return true;
}

bool td_report_file_open(td_report_file *file, const char *pattern)
{
    *file = (td_report_file){0};
    if (!expand(pattern, file->path)) return false;
    /* /dev/stdout may lead to a regular file that somebody has open: it must not be replaced. */
    const bool is_device = strncmp(file->path, "/dev/", 5) == 0;
    if (!is_device && !resolve(file->path)) return false;

    file->existed = stat(file->path, &file->before) == 0;
    if (file->existed && S_ISDIR(file->before.st_mode)) return fail(EISDIR);
    file->is_in_place = is_device || (file->existed && !S_ISREG(file->before.st_mode));
    if (!file->is_in_place) {
        if (file->existed && access(file->path, W_OK) != 0) return false;
        if (can_make_temporary(file->path)) return true;
        if (!file->existed) return false;
        file->is_in_place = true;
    }
    return access(file->path, W_OK) == 0;
}

bool td_report_file_has_changed(const td_report_file *file)
{
    struct stat now;
    if (stat(file->path, &now) != 0) return false;
    return !file->existed || now.st_dev != file->before.st_dev ||
           now.st_ino != file->before.st_ino || now.st_size != file->before.st_size ||
           now.st_mtim.tv_sec != file->before.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != file->before.st_mtim.tv_nsec;
}

static bool write_all(int descriptor, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(descriptor, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        text += written;
        length -= (size_t)written;
    }
    return true;
}

/* Writes and closes; descriptor may be -1, then errno is its reason. */
static bool write_and_close(int descriptor, const char *text, size_t length)
{
    if (descriptor < 0) return false;
    const bool is_written = write_all(descriptor, text, length);
    const int error = errno;
    const bool is_closed = close(descriptor) == 0;
    if (!is_written) errno = error;
    return is_written && is_closed;
}

bool td_report_file_write(const td_report_file *file, const char *text, size_t length)
{
    if (file->is_in_place) {
        const int truncate =
            file->existed && S_ISREG(file->before.st_mode) && strncmp(file->path, "/dev/", 5) != 0
                ? O_TRUNC
                : O_APPEND;
        return write_and_close(open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | truncate), text,
                               length);
    }
    char name[TD_PATH_BYTES];
    if (!temporary_name(file->path, name)) return false;
    if (write_and_close(create_temporary(name), text, length) && rename(name, file->path) == 0)
        return true;
    const int error = errno;
    unlink(name);
    return fail(error);
}
