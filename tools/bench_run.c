#include "tools/bench_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/options/file.h"
#include "lib/options/options.h"
#include "tools/clock.h"
#include "tools/launch.h"

/* ---- signals ---- */

/* SIGPIPE is that of a reader of this process's own lines who is gone. */
static const int stopping[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
enum { STOPPING = sizeof stopping / sizeof *stopping };

enum { PATIENCE_SECONDS = 5 }; /* from SIGTERM to SIGKILL */

static volatile sig_atomic_t stops;
static volatile sig_atomic_t is_late; /* what runs now has taken longer than it may */
static volatile pid_t running;        /* leads a process group of its own; 0: nothing runs */
static volatile double halted;        /* seconds for which what runs was halted */
static off_t input_start;             /* in standard input; -1: it can be read once at most */

/* A program that has stopped itself, because it wants the terminal, must go on to hear of the
 * signal. */
static void pass_on(int signal)
{
    const int saved_errno = errno;
    if (running) {
        kill(-running, signal);
        kill(-running, SIGCONT);
    }
    errno = saved_errno;
}

static void stop(int signal)
{
    pass_on(stops ? SIGKILL : signal);
    stops = 1;
}

static void end_late(int signal)
{
    (void)signal;
    pass_on(is_late ? SIGKILL : SIGTERM);
    is_late = 1;
}

/* The terminal's Ctrl-Z reaches this process alone: the program halts with it, and its time. */
static void halt(int signal)
{
    const int saved_errno = errno;
    const double start = clock_seconds();
    const struct itimerval off = {0};
    struct itimerval left;
    (void)signal;
    setitimer(ITIMER_REAL, &off, &left);
    if (running) kill(-running, SIGSTOP);
    raise(SIGSTOP);
    if (running) kill(-running, SIGCONT);
    setitimer(ITIMER_REAL, &left, NULL);
    halted += clock_seconds() - start;
    errno = saved_errno;
}

static void set_timer(int seconds)
{
    const struct itimerval when = {.it_value.tv_sec = seconds,
                                   .it_interval.tv_sec = PATIENCE_SECONDS};
    setitimer(ITIMER_REAL, &when, NULL);
}

bool bench_run_is_stopped(void) { return stops; }

/* What whoever started this process ignores stays ignored. */
static void handle(int signal, void (*handler)(int))
{
    struct sigaction before;
    const struct sigaction action = {.sa_handler = handler};
    if (sigaction(signal, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(signal, &action, NULL);
}

void bench_run_open(void)
{
    const struct sigaction late = {.sa_handler = end_late};
    for (int i = 0; i < STOPPING; i++) handle(stopping[i], stop);
    handle(SIGTSTP, halt);
    sigaction(SIGALRM, &late, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* to hear of processes that outlive the program */
    input_start = lseek(STDIN_FILENO, 0, SEEK_CUR);
}

bool bench_run_drops_input(void)
{
    struct stat info;
    return input_start < 0 && fstat(STDIN_FILENO, &info) == 0 && !isatty(STDIN_FILENO);
}

static void set_blocked(bool are_blocked)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    for (int i = 0; i < STOPPING; i++) sigaddset(&set, stopping[i]);
    sigprocmask(are_blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* ---- the process ---- */

void bench_run_file(const bench_program *p, const char *stem, const char *suffix,
                    char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s%s", p->folder, stem, suffix) >= PATH_MAX)
        path[PATH_MAX - 1] = '\0';
}

/* Opens the file of a run's stdout or stderr; -1 with errno set if it cannot. */
static int open_output(const bench_program *p, const char *stem, const char *suffix)
{
    char path[PATH_MAX];
    bench_run_file(p, stem, suffix, path);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

/* A strategy is for the other modes: native has nothing to decide. */
static void drop_strategy(void)
{
    const char *mode = getenv(td_option_table[TD_OPTION_MODE].name);
    if (mode && strcmp(mode, "native") == 0) unsetenv(td_option_table[TD_OPTION_STRATEGY].name);
}

/* The child's part; ends the process. */
static void become(const bench_program *p, const char *mode, int out, int err)
{
    setpgid(0, 0);
    if (strcmp(mode, "native") == 0) unsetenv(td_option_table[TD_OPTION_RULES].name);
    if (input_start < 0) {
        const int nothing = open("/dev/null", O_RDONLY);
        if (nothing > 0) dup2(nothing, STDIN_FILENO);
    }
    if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0) {
        set_blocked(false);
        drop_strategy();
        execvp(p->path, p->command);
    }
    _exit(launch_refuse(p->command[0], errno));
}

/* True if processes of the group run on for a while, though its leader has ended. */
static bool runs_on(pid_t group)
{
    enum { TRIES = 100 };
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; i < TRIES; i++) {
        pid_t ended;
        do ended = waitpid(-group, NULL, WNOHANG);
        while (ended > 0);
        if (ended < 0) return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Starts the program and waits for its end; false with errno set if there can be no process, or a
 * signal to stop came before. */
static bool time_process(const bench_program *p, const char *mode, int out, int err, bench_run *run)
{
    if (input_start >= 0) lseek(STDIN_FILENO, input_start, SEEK_SET);
    is_late = 0;
    set_blocked(true);
    halted = 0.0;
    errno = EINTR;
    const double start = clock_seconds();
    const pid_t child = stops ? -1 : fork();
    if (child == 0) become(p, mode, out, err);
    if (child > 0) setpgid(child, child);
    running = child > 0 ? child : 0;
    const int error = errno;
    if (child > 0) set_timer(p->timeout);
    set_blocked(false);
    if (child < 0) {
        errno = error;
        return false;
    }
    while (waitpid(child, &run->status, 0) < 0 && errno == EINTR) {
    }
    running = 0;
    run->wall_seconds = clock_seconds() - start - halted;
    set_timer(0);
    run->is_late = is_late;
    run->has_left_processes = runs_on(child);
    return true;
}

/* ---- what it leaves ---- */

bool bench_run_has_room(const bench_program *p)
{
    enum { PIECE = 1 << 16, PIECES = 16 };
    static const char piece[PIECE];
    char path[PATH_MAX];
    bench_run_file(p, "room", "", path);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return false;
    bool has_room = true;
    for (int i = 0; has_room && i < PIECES; i++) has_room = td_file_write(file, piece, PIECE);
    const int error = errno;
    has_room = close(file) == 0 && has_room;
    unlink(path);
    errno = error;
    return has_room;
}

/* Keeps the last line that is not empty. */
static void read_last_words(const bench_program *p, const char *stem, const char *suffix,
                            char words[BENCH_TEXT_BYTES])
{
    char path[PATH_MAX], *line = NULL;
    size_t room = 0;
    bench_run_file(p, stem, suffix, path);
    FILE *file = fopen(path, "r");
    while (file && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0]) snprintf(words, BENCH_TEXT_BYTES, "%s", line);
    }
    for (char *c = words; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = ' ';
    free(line);
    if (file) fclose(file);
}

/* STEM.PID.json, and behind that what a process adds that was another program before
 * (docs/report.md), but not the unfinished file of a process that was killed. */
static bool is_report(const char *name, const char *stem)
{
    static const char suffix[] = ".json", unfinished[] = ".tmp";
    const size_t length = strlen(name), start = strlen(stem);
    const char *end = length > start ? strstr(name + start + 1, suffix) : NULL;
    return end && strncmp(name, stem, start) == 0 && name[start] == '.' &&
           (end[strlen(suffix)] == '\0' || end[strlen(suffix)] == '.') &&
           strcmp(name + length - strlen(unfinished), unfinished) != 0;
}

/* Each process of the run has left a report of its own. A single one gets the run's name. False
 * with errno set if one cannot be read. */
static bool read_reports(const bench_program *p, const char *stem, bench_run *run)
{
    char path[PATH_MAX], read[PATH_MAX], only[PATH_MAX];
    int count = 0, error = 0;
    DIR *folder = opendir(p->folder);
    if (!folder) return false;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!is_report(entry->d_name, stem)) continue;
        if (snprintf(path, sizeof path, "%s/%s", p->folder, entry->d_name) >= (int)sizeof path)
            error = ENAMETOOLONG;
        else if (!bench_report_add(&run->report, path))
            error = errno;
        strcpy(read, path);
        count++;
    }
    closedir(folder);
    bench_run_file(p, stem, ".json", only);
    if (count == 1) (void)rename(read, only);
    errno = error;
    return error == 0;
}

bool bench_run_once(const bench_program *p, const bench_label *label, bench_run *run)
{
    char report[PATH_MAX];
    *run = (bench_run){0};
    bench_run_file(p, label->stem, ".%p.json", report);
    const int out = open_output(p, label->stem, ".out");
    const int err = open_output(p, label->stem, ".err");
    const bool is_run = out >= 0 && err >= 0 &&
                        setenv(td_option_table[TD_OPTION_MODE].name, label->mode, 1) == 0 &&
                        setenv(td_option_table[TD_OPTION_REPORT].name, report, 1) == 0 &&
                        time_process(p, label->mode, out, err, run);
    const int error = errno;
    if (out >= 0) close(out);
    if (err >= 0) close(err);
    errno = error;
    if (!is_run) return false;
    read_last_words(p, label->stem, ".err", run->last_words);
    if (!run->last_words[0]) read_last_words(p, label->stem, ".out", run->last_words);
    return bench_run_has_room(p) && read_reports(p, label->stem, run);
}
