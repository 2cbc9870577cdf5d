#define _GNU_SOURCE 1
#include "report_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../options/log.h"

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

/* Sets `path` to what is left of it without links, dots and double slashes, and `name`, which may
 * be "", behind that. False with errno set, also if there is no such file. */
static bool straighten(char path[TD_PATH_BYTES], const char *name)
{
    char *real = realpath(path, NULL);
    if (!real) return false;
    const char *slash = name[0] && strcmp(real, "/") != 0 ? "/" : "";
    const int needed = snprintf(path, TD_PATH_BYTES, "%s%s%s", real, slash, name);
    free(real);
    return needed < TD_PATH_BYTES || fail(ENAMETOOLONG);
}

/* Follows links, so that a rename replaces the file and not the link. Of a file that is not there
 * the folder is straightened, so that one file has one path. */
static bool resolve(char path[TD_PATH_BYTES])
{
    struct stat link;
    char name[TD_PATH_BYTES];
    if (straighten(path, "")) return true;
    if (errno != ENOENT) return false;
    if (lstat(path, &link) == 0) return fail(ENOLINK);
    char *slash = strrchr(path, '/');
    strcpy(name, slash + 1);
    slash[slash == path] = '\0';
    return straighten(path, name);
}

bool td_report_file_open(td_report_file *file, const td_file_name *name)
{
    *file = (td_report_file){0};
    if (!td_file_name_path(name, file->path)) return false;
    file->is_in_place = file->is_stream = is_descriptor(file->path);
    if (!file->is_in_place && !resolve(file->path)) return false;

    struct stat old;
    const bool exists = stat(file->path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) return fail(EISDIR);
    if (exists && !S_ISREG(old.st_mode)) file->is_in_place = file->is_stream = true;
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

/* ---- one name, several processes ---- */

void td_report_file_share(td_report_file *file, const char *run, const struct timespec *start)
{
    snprintf(file->run, sizeof file->run, "%s", run);
    file->process = (long)getpid();
    file->start = *start;
}

/* Reads what a file holds from `offset` on, as far as there is room, with a zero behind it. */
static void read_part(const char *path, off_t offset, char *text, size_t room)
{
    const int descriptor = td_file_open(path, O_RDONLY, 0);
    const ssize_t length = descriptor < 0 ? 0 : pread(descriptor, text, room - 1, offset);
    if (descriptor >= 0) close(descriptor);
    text[length > 0 ? length : 0] = '\0';
}

/* True if a report ends with an empty list of calls: there is nothing to lose in it. */
static bool has_no_calls(const char *path, off_t bytes)
{
    static const char empty[] = "\"calls\": [\n  ]\n}\n";
    char text[sizeof empty];
    if (bytes < (off_t)strlen(empty)) return true;
    read_part(path, bytes - (off_t)strlen(empty), text, sizeof text);
    return strcmp(text, empty) == 0;
}

/* The run that a report names in its first lines; false if the file is none. */
static bool read_run(const char *path, char run[TD_RUN_BYTES])
{
    enum { BEGINNING = 2 * TD_PATH_BYTES };
    static const char member[] = "\n  \"run\": \"";
    char text[BEGINNING];
    read_part(path, 0, text, sizeof text);
    const char *at = strstr(text, member);
    if (!at) return false;
    at += strlen(member);
    snprintf(run, TD_RUN_BYTES, "%.*s", (int)strcspn(at, "\""), at);
    return true;
}

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

static bool is_anothers(const td_report_file *file, const char *path, const struct stat *at)
{
    char run[TD_RUN_BYTES];
    if (!file->run[0] || !S_ISREG(at->st_mode)) return false;
    if (file->own.st_ino && td_file_is_same(at, &file->own)) return false;
    if (!read_run(path, run) || has_no_calls(path, at->st_size)) return false;
    return strcmp(run, file->run) == 0 || is_later(at->st_mtim, file->start);
}

static bool name_of(const td_report_file *file, int number, char path[TD_PATH_BYTES])
{
    int length;
    if (number == 0)
        length = snprintf(path, TD_PATH_BYTES, "%s", file->path);
    else if (number == 1)
        length = snprintf(path, TD_PATH_BYTES, "%s.%ld", file->path, file->process);
    else
        length = snprintf(path, TD_PATH_BYTES, "%s.%ld.%d", file->path, file->process, number);
    return length < TD_PATH_BYTES || fail(ENAMETOOLONG);
}

typedef enum { WRITTEN, FAILED, TAKEN } outcome;

static outcome write_at(td_report_file *file, const char *path, bool is_empty, const char *text,
                        size_t length)
{
    struct stat old;
    const bool exists = stat(path, &old) == 0;
    if (is_empty && exists && S_ISREG(old.st_mode) && old.st_size > 0) return WRITTEN;
    if (exists && is_anothers(file, path, &old)) return TAKEN;
    if (file->is_in_place) {
        if (!write_in_place(file, text, length)) return FAILED;
        (void)stat(path, &file->own);
        return WRITTEN;
    }
    if (td_file_replace(path, 0666, exists ? &old : NULL, !exists, text, length, &file->own))
        return WRITTEN;
    if (errno != EEXIST) return FAILED;
    return is_empty ? WRITTEN : TAKEN;
}

bool td_report_file_write(td_report_file *file, bool is_empty, const char *text, size_t length)
{
    enum { TRIES = 1000 };
    char path[TD_PATH_BYTES];
    const int before = file->number;
    for (int number = before; number < before + TRIES; number++) {
        if (!name_of(file, number, path)) return false;
        const outcome o = write_at(file, path, is_empty, text, length);
        if (o == FAILED) return false;
        if (o == TAKEN && (file->is_in_place || !file->run[0])) return fail(EEXIST);
        if (o == TAKEN) continue;
        if (number != before)
            td_log(TD_LOG_WARN,
                   "'%s' is the report of another process of this run; this one's is '%s'",
                   file->path, path);
        file->number = number;
        return true;
    }
    return fail(EEXIST);
}

/* ---- stderr ---- */

void td_report_stderr_keep(td_report_stderr *kept)
{
    enum { OUT_OF_THE_WAY = 200 }; /* of programs that expect the lowest numbers */
    char name[32];
    *kept = (td_report_stderr){.copy = -1};
    if (fstat(STDERR_FILENO, &kept->was) != 0) return;
    kept->copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    if (kept->copy < 0) kept->copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    snprintf(name, sizeof name, "/proc/self/fd/%d", STDERR_FILENO);
    const ssize_t length = readlink(name, kept->path, sizeof kept->path - 1);
    kept->path[length > 0 && kept->path[0] == '/' ? length : 0] = '\0';
}

static bool is_kept(const td_report_stderr *kept, int descriptor)
{
    struct stat now;
    return fstat(descriptor, &now) == 0 && now.st_dev == kept->was.st_dev &&
           now.st_ino == kept->was.st_ino;
}

bool td_report_stderr_write(const td_report_stderr *kept, const char *text, size_t length)
{
    if (kept->copy >= 0 && is_kept(kept, kept->copy))
        return td_file_write(kept->copy, text, length);
    if (is_kept(kept, STDERR_FILENO)) return td_file_write(STDERR_FILENO, text, length);
    const int again = kept->path[0] ? td_file_open(kept->path, O_WRONLY | O_APPEND, 0) : -1;
    const bool is_written =
        again >= 0 && is_kept(kept, again) && td_file_write(again, text, length);
    if (again >= 0) close(again);
    return is_written;
}
