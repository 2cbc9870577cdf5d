/* file.h - the files that the library writes in the user's name from inside other people's
 * programs: how they are called, and writing that never ends the process (SIGPIPE, SIGXFSZ) and
 * never waits for ever (a FIFO without a reader). Pure: no CUDA calls. A function that fails
 * returns false, or -1, with errno set; td_file_reason has the words for it. */
#ifndef TD_FILE_H
#define TD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { TD_PATH_BYTES = 4096 };

/* A file name as the user gave it, and where it was given. */
typedef struct {
    char pattern[TD_PATH_BYTES]; /* %p in it stands for the process id, %r for the rank */
    long rank;                   /* of this process, as its launcher says (launcher.h) */
    /* absolute: of relative names, since the application may change its own */
    char folder[TD_PATH_BYTES];
} td_file_name;

bool td_file_name_set(td_file_name *name, const char *pattern);

/* The absolute name of this process's file. To be asked for anew after a fork(), which has an id of
 * its own. */
bool td_file_name_path(const td_file_name *name, char path[TD_PATH_BYTES]);

/* The user's folder for what Tandem keeps, $XDG_CACHE_HOME/tandem or ~/.cache/tandem. It need not
 * be there. An XDG_CACHE_HOME that is not absolute does not count, as its specification has it. */
bool td_file_cache_folder(char path[TD_PATH_BYTES]);

/* Makes the folders of a file's path that are not there, outermost first: this user's own, as the
 * specification of XDG_CACHE_HOME has it. */
bool td_file_make_folders(const char *path);

/* Between the two, no file that the calling thread opens has the number of stdin, stdout or stderr,
 * as the first ones have in a program that was started without these: what the program prints would
 * go there. What stands in their places can be neither read nor written, as if they were closed. */
typedef struct {
    int descriptor[3], count;
} td_file_standard;
td_file_standard td_file_take_standard(void);
void td_file_leave_standard(const td_file_standard *taken); /* errno stays */

/* open(2), but close-on-exec, never a controlling terminal, ENXIO for a FIFO that nobody reads, and
 * none of the numbers of stdin, stdout and stderr. */
int td_file_open(const char *path, int flags, mode_t mode);

/* Writes the whole text. A reader of a pipe that takes nothing for some seconds is a failure:
 * ETIMEDOUT. */
bool td_file_write(int descriptor, const char *text, size_t length);

/* True if td_file_replace can make a file at path, which follows no links. old: the one that is
 * there, or NULL. False as well if the new file would belong to another user or group than the old
 * one. Changes nothing. */
bool td_file_can_replace(const char *path, const struct stat *old);

/* Makes the file at path in one step, so that it is never there in part. old: the one to replace,
 * whose permissions it keeps; EEXIST if there is another one by now, which stays. NULL: it gets
 * `mode`, less the umask; with is_first it fails with EEXIST if there is a file by now. *made, if
 * not NULL, is what stat(2) says of the new file. */
bool td_file_replace(const char *path, mode_t mode, const struct stat *old, bool is_first,
                     const char *text, size_t length, struct stat *made);

/* True if both are the same file, and it has not been written to in between. */
bool td_file_is_same(const struct stat *a, const struct stat *b);

/* What an errno of these functions means, as in strerror(3). ENOLINK: a symbolic link to no
 * file. */
const char *td_file_reason(int error);

#endif
