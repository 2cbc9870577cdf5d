#include "tools/bench_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/options/options.h"
#include "tools/clock.h"
#include "tools/launch.h"

/* ---- signals ---- */

static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOPPING = sizeof stopping / sizeof *stopping };

static volatile sig_atomic_t stops;
static volatile pid_t running; /* leads a process group of its own; 0: nothing runs */
static off_t input_start;      /* in standard input; -1: it is no file */

/* A program that has stopped itself, because it wants the terminal, must go on to hear of the
 * signal. */
static void stop(int signal)
{
    const int saved_errno = errno;
    if (running) {
        kill(-running, stops ? SIGKILL : signal);
        kill(-running, SIGCONT);
    }
    stops = 1;
    errno = saved_errno;
}

bool bench_run_is_stopped(void) { return stops; }

void bench_run_open(void)
{
    struct stat info;
    struct sigaction before;
    const struct sigaction action = {.sa_handler = stop};
    for (int i = 0; i < STOPPING; i++)
        if (sigaction(stopping[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(stopping[i], &action, NULL);
    const bool is_file = fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode);
    input_start = is_file ? lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
}

static void set_blocked(bool are_blocked)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < STOPPING; i++) sigaddset(&set, stopping[i]);
    sigprocmask(are_blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* ---- the process ---- */

void bench_run_file(const bench_program *p, const char *mode, int number, const char *suffix,
                    char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s-%d%s", p->folder, mode, number, suffix) >= PATH_MAX)
        path[PATH_MAX - 1] = '\0';
}

/* Opens the file of a run's stdout or stderr; -1 with errno set if it cannot. */
static int open_output(const bench_program *p, const char *mode, int number, const char *suffix)
{
    char path[PATH_MAX];
    bench_run_file(p, mode, number, suffix, path);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

/* A strategy is for the other modes: native has nothing to decide. */
static void drop_strategy(void)
{
    const char *mode = getenv(td_option_table[TD_OPTION_MODE].name);
    if (mode && strcmp(mode, "native") == 0) unsetenv(td_option_table[TD_OPTION_STRATEGY].name);
}

/* The child's part; ends the process. */
static void become(const bench_program *p, int out, int err)
{
    setpgid(0, 0);
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

/* Starts the program and waits for its end; false with errno set if there can be no process. */
static bool time_process(const bench_program *p, int out, int err, bench_run *run)
{
    if (input_start >= 0) lseek(STDIN_FILENO, input_start, SEEK_SET);
    set_blocked(true);
    const double start = clock_seconds();
    const pid_t child = fork();
    if (child == 0) become(p, out, err);
    if (child > 0) setpgid(child, child);
    running = child > 0 ? child : 0;
    const int error = errno;
    set_blocked(false);
    if (child < 0) {
        errno = error;
        return false;
    }
    while (waitpid(child, &run->status, 0) < 0 && errno == EINTR) {
    }
    running = 0;
    run->wall_seconds = clock_seconds() - start;
    return true;
}

/* ---- what it leaves ---- */

/* Keeps the last line that is not empty. */
static void read_last_words(const char *path, char words[BENCH_TEXT_BYTES])
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    while (file && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0]) snprintf(words, BENCH_TEXT_BYTES, "%s", line);
    }
    for (char *c = words; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    free(line);
    if (file) fclose(file);
}

static bool is_report(const char *name, const char *start)
{
    static const char suffix[] = ".json";
    const size_t length = strlen(name), least = strlen(start) + strlen(suffix);
    return length > least && strncmp(name, start, strlen(start)) == 0 &&
           strcmp(name + length - strlen(suffix), suffix) == 0;
}

/* Each process of the run has left a report of its own. A single one gets the run's name. */
static void read_reports(const bench_program *p, const char *mode, int number, bench_run *run)
{
    char start[TD_MODE_BYTES + 16], path[PATH_MAX], read[PATH_MAX], only[PATH_MAX];
    int count = 0;
    DIR *folder = opendir(p->folder);
    snprintf(start, sizeof start, "%s-%d.", mode, number);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!is_report(entry->d_name, start)) continue;
        if (snprintf(path, sizeof path, "%s/%s", p->folder, entry->d_name) >= (int)sizeof path)
            continue;
        if (!bench_report_add(&run->report, path)) continue;
        strcpy(read, path);
        count++;
    }
    if (folder) closedir(folder);
    bench_run_file(p, mode, number, ".json", only);
    if (count == 1) (void)rename(read, only);
}

bool bench_run_once(const bench_program *p, const char *mode, int number, bench_run *run)
{
    char report[PATH_MAX], err_path[PATH_MAX];
    *run = (bench_run){0};
    bench_run_file(p, mode, number, ".%p.json", report);
    bench_run_file(p, mode, number, ".err", err_path);
    const int out = open_output(p, mode, number, ".out");
    const int err = open_output(p, mode, number, ".err");
    const bool is_run = out >= 0 && err >= 0 &&
                        setenv(td_option_table[TD_OPTION_MODE].name, mode, 1) == 0 &&
                        setenv(td_option_table[TD_OPTION_REPORT].name, report, 1) == 0 &&
                        time_process(p, out, err, run);
    const int error = errno;
    if (out >= 0) close(out);
    if (err >= 0) close(err);
    errno = error;
    if (!is_run) return false;
    read_last_words(err_path, run->last_words);
    read_reports(p, mode, number, run);
    return true;
}
