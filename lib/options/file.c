#define _GNU_SOURCE 1
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "launcher.h"

enum { PATIENCE_MILLISECONDS = 5000 };

static bool fail(int error)
{
    errno = error;
    return false;
}

const char *td_file_reason(int error)
{
    switch (error) {
    case ENXIO:
        return "nobody reads the pipe, or there is no such device";
    case ETIMEDOUT:
        return "its reader takes nothing";
    case ENOLINK:
        return "a symbolic link to no file";
    default:
        return strerror(error);
    }
}

/* ---- names ---- */

bool td_file_name_set(td_file_name *name, const char *pattern)
{
    const int length = snprintf(name->pattern, sizeof name->pattern, "%s", pattern);
    if (length >= (int)sizeof name->pattern) return fail(ENAMETOOLONG);
    name->folder[0] = '\0';
    name->rank = td_launch_find().rank;
    return pattern[0] == '/' || getcwd(name->folder, sizeof name->folder);
}

bool td_file_name_path(const td_file_name *name, char path[TD_PATH_BYTES])
{
    const char *at = name->pattern;
    int used = 0;
    if (*at != '/') used = snprintf(path, TD_PATH_BYTES, "%s/", name->folder);
    while (*at && used < TD_PATH_BYTES) {
        const size_t room = (size_t)(TD_PATH_BYTES - used);
        const bool is_process = strncmp(at, "%p", 2) == 0;
        if (is_process || strncmp(at, "%r", 2) == 0) {
            used += snprintf(path + used, room, "%ld", is_process ? (long)getpid() : name->rank);
            at += 2;
        } else {
            used += snprintf(path + used, room, "%c", *at++);
        }
    }
    return used < TD_PATH_BYTES || fail(ENAMETOOLONG);
}

td_file_standard td_file_take_standard(void)
{
    td_file_standard taken = {.count = 0};
    for (int i = 0; i <= STDERR_FILENO; i++) {
        if (fcntl(i, F_GETFD) >= 0) continue;
        const int descriptor = open("/", O_PATH | O_CLOEXEC);
        if (descriptor >= 0) taken.descriptor[taken.count++] = descriptor;
    }
    return taken;
}

void td_file_leave_standard(const td_file_standard *taken)
{
    const int error = errno;
    for (int i = 0; i < taken->count; i++) close(taken->descriptor[i]);
    errno = error;
}

int td_file_open(const char *path, int flags, mode_t mode)
{
    const td_file_standard taken = td_file_take_standard();
    const int descriptor = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
    td_file_leave_standard(&taken);
    return descriptor;
}

/* ---- folders ---- */

static bool join(char path[TD_PATH_BYTES], const char *folder, const char *rest)
{
    return snprintf(path, TD_PATH_BYTES, "%s%s", folder, rest) < TD_PATH_BYTES ||
           fail(ENAMETOOLONG);
}

bool td_file_cache_folder(char path[TD_PATH_BYTES])
{
    const char *cache = td_environment_value("XDG_CACHE_HOME"),
               *home = td_environment_value("HOME");
    if (cache && cache[0] == '/') return join(path, cache, "/tandem");
    return home && home[0] == '/' ? join(path, home, "/.cache/tandem") : fail(ENOENT);
}

bool td_file_make_folders(const char *path)
{
    char folder[TD_PATH_BYTES];
    if (!join(folder, path, "")) return false;
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) return false;
        *slash = '/';
    }
    return true;
}

/* ---- writing ---- */

static bool wait_for_reader(int descriptor)
{
    struct pollfd wanted = {.fd = descriptor, .events = POLLOUT};
    int ready;
    do ready = poll(&wanted, 1, PATIENCE_MILLISECONDS);
    while (ready < 0 && errno == EINTR);
    return ready > 0 || (ready == 0 && fail(ETIMEDOUT));
}

static bool write_all(int descriptor, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(descriptor, text, length);
        if (written == 0) return fail(EIO);
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        } else if (errno != EINTR && (errno != EAGAIN || !wait_for_reader(descriptor))) {
            return false;
        }
    }
    return true;
}

/* Takes back the signal that a failed write has sent to this thread, where it is blocked. */
static void take_back(int signal)
{
    const struct timespec no_time = {0};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    (void)sigtimedwait(&one, NULL, &no_time);
}

bool td_file_write(int descriptor, const char *text, size_t length)
{
    sigset_t deadly, before, pending;
    sigemptyset(&deadly);
    sigaddset(&deadly, SIGPIPE);
    sigaddset(&deadly, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &deadly, &before);
    sigpending(&pending);
    const bool is_written = write_all(descriptor, text, length);
    const int error = errno, signal = error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
    /* One that was pending already is the application's. */
    if (!is_written && signal && !sigismember(&pending, signal)) take_back(signal);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_written || fail(error);
}

/* ---- replacing ---- */

/* Makes a file next to path, which only this process uses, and its name. Its descriptor, or -1. */
static int make_temporary(const char *path, mode_t mode, char name[TD_PATH_BYTES])
{
    if (snprintf(name, TD_PATH_BYTES, "%s.%ld.tmp", path, (long)getpid()) >= TD_PATH_BYTES) {
        errno = ENAMETOOLONG;
        return -1;
    }
    (void)unlink(name); /* of an earlier process with this id */
    return td_file_open(name, O_WRONLY | O_CREAT | O_EXCL, mode);
}

bool td_file_can_replace(const char *path, const struct stat *old)
{
    char name[TD_PATH_BYTES];
    struct stat made;
    const int descriptor = make_temporary(path, S_IRUSR | S_IWUSR, name);
    if (descriptor < 0) return false;
    const bool is_known = fstat(descriptor, &made) == 0;
    const int error = errno;
    close(descriptor);
    unlink(name);
    if (!is_known) return fail(error);
    return !old || (made.st_uid == old->st_uid && made.st_gid == old->st_gid) || fail(EPERM);
}

static bool fill(int descriptor, const struct stat *old, const char *text, size_t length,
                 struct stat *made)
{
    const bool is_written = td_file_write(descriptor, text, length) &&
                            (!old || fchmod(descriptor, old->st_mode & 07777) == 0) &&
                            fstat(descriptor, made) == 0;
    const int error = errno;
    const bool is_closed = close(descriptor) == 0;
    return is_written ? is_closed : fail(error);
}

bool td_file_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* True if an error of renameat2(2) means that this file system cannot do it. */
static bool is_unable(int error) { return error == EINVAL || error == ENOSYS; }

static bool put_first(const char *name, const char *path)
{
    if (renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return true;
    if (!is_unable(errno)) return false;
    return access(path, F_OK) == 0 ? fail(EEXIST) : rename(name, path) == 0;
}

static bool exchange(const char *name, const char *path)
{
    return renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_EXCHANGE) == 0;
}

/* Whatever was there is looked at before it is gone. */
static bool put_instead(const char *name, const char *path, const struct stat *old)
{
    struct stat taken;
    if (!exchange(name, path)) {
        if (errno == ENOENT) return put_first(name, path); /* the old one is gone */
        if (!is_unable(errno)) return false;
        if (stat(path, &taken) == 0 && !td_file_is_same(&taken, old)) return fail(EEXIST);
        return rename(name, path) == 0;
    }
    if (stat(name, &taken) == 0 && td_file_is_same(&taken, old)) return unlink(name) == 0;
    return exchange(name, path) ? fail(EEXIST) : false;
}

static bool put_in_place(const char *name, const char *path, const struct stat *old, bool is_first)
{
    if (is_first) return put_first(name, path);
    return old ? put_instead(name, path, old) : rename(name, path) == 0;
}

bool td_file_replace(const char *path, mode_t mode, const struct stat *old, bool is_first,
                     const char *text, size_t length, struct stat *made)
{
    char name[TD_PATH_BYTES];
    struct stat unwanted;
    if (!made) made = &unwanted;
    const int descriptor = make_temporary(path, old ? S_IRUSR | S_IWUSR : mode, name);
    if (descriptor < 0) return false;
    if (fill(descriptor, old, text, length, made) && put_in_place(name, path, old, is_first))
        return true;
    const int error = errno;
    unlink(name);
    return fail(error);
}
