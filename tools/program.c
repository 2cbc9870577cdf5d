#include "tools/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 if the file can be executed, else an errno value: of what is no file the kernel's. */
static int check(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) return errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    if (!S_ISREG(info.st_mode)) return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static int find_at(const char *name, char path[PATH_MAX])
{
    const int error = check(name);
    if (error != ENOENT && error != ENOTDIR) strcpy(path, name);
    return error;
}

/* A file that cannot be executed does not hide one in a later folder. */
static int find_in(const char *folders, const char *name, char path[PATH_MAX])
{
    int error = ENOENT;
    for (bool is_last = false; !is_last;) {
        char candidate[PATH_MAX];
        const int length = (int)strcspn(folders, ":"),
                  needed = snprintf(candidate, sizeof candidate, "%.*s%s%s", length, folders,
                                    length ? "/" : "./", name),
                  problem = needed < PATH_MAX ? check(candidate) : ENAMETOOLONG;
        if (problem == 0 || (problem == EACCES && error == ENOENT)) strcpy(path, candidate);
        if (problem == 0) return 0;
        if (problem == EACCES) error = EACCES;
        is_last = folders[length] == '\0';
        folders += length + 1;
    }
    return error;
}

int program_find(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    path[0] = '\0';
    if (strlen(name) >= PATH_MAX) return ENAMETOOLONG;
    if (strchr(name, '/')) return find_at(name, path);
    return name[0] ? find_in(folders ? folders : "/bin:/usr/bin", name, path) : ENOENT;
}

/* Cuts the next word off *rest; NULL if there is none. */
static char *next_word(char **rest) { return strtok_r(NULL, " \t", rest); }

/* The first line of a text, cut to the buffer; false if the file is none. */
static bool read_line(const char *path, char line[PATH_MAX])
{
    struct stat info;
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "r") : NULL;
    if (!file) return false;
    const size_t bytes = fread(line, 1, PATH_MAX - 1, file);
    fclose(file);
    line[bytes] = '\0';
    const size_t length = strcspn(line, "\n");
    const bool is_text =
        bytes > 0 && (length < bytes ? line[length] == '\n' : strlen(line) == bytes);
    line[length] = '\0';
    return is_text;
}

static bool asks_for_interpreter(const char *line) { return strncmp(line, "#!", 2) == 0; }

const char *program_runner(const char *path)
{
    static const struct {
        const char *suffix, *program;
    } runners[] = {{".py", "python3"}, {".sh", "sh"}, {".jl", "julia"}, {".R", "Rscript"}};
    char line[PATH_MAX];
    const char *suffix = strrchr(path, '.');
    if (!suffix || !read_line(path, line) || asks_for_interpreter(line)) return NULL;
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++)
        if (strcmp(runners[i].suffix, suffix) == 0) return runners[i].program;
    return NULL;
}

/* Looks a program up in PATH; what is not there stays its name. */
static void look_up(const char *name, char path[PATH_MAX])
{
    if (program_find(name, path) != 0) snprintf(path, PATH_MAX, "%s", name);
}

/* The interpreter that a "#!" line asks for. */
static bool parse_interpreter(char *line, char interpreter[PATH_MAX])
{
    char *rest = line + 2;
    char *name = next_word(&rest);
    if (!name) return false;
    const char *slash = strrchr(name, '/');
    if (strcmp(slash ? slash + 1 : name, "env") != 0) {
        strcpy(interpreter, name);
        return true;
    }
    char *word = next_word(&rest);
    while (word && (word[0] == '-' || strchr(word, '='))) word = next_word(&rest);
    if (!word) return false;
    look_up(word, interpreter);
    return true;
}

bool program_interpreter(const char *path, char interpreter[PATH_MAX])
{
    char line[PATH_MAX];
    if (!read_line(path, line)) return false;
    if (asks_for_interpreter(line)) return parse_interpreter(line, interpreter);
    const char *runner = program_runner(path);
    if (!runner && check(path) == 0) runner = "sh";
    if (runner) look_up(runner, interpreter);
    return runner != NULL;
}
