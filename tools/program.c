#include "tools/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 if the file can be executed, else an errno value. */
static int check(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) return errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

int program_find(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    int error = ENOENT;
    path[0] = '\0';
    if (strlen(name) >= PATH_MAX) return ENAMETOOLONG;
    if (strchr(name, '/')) {
        error = check(name);
        if (error != ENOENT && error != ENOTDIR) strcpy(path, name);
        return error;
    }
    if (!folders) folders = "/bin:/usr/bin";
    for (bool is_last = name[0] == '\0'; !is_last;) {
        char candidate[PATH_MAX];
        const int length = (int)strcspn(folders, ":");
        if (snprintf(candidate, sizeof candidate, "%.*s%s%s", length, folders, length ? "/" : "./",
                     name) < PATH_MAX) {
            const int problem = check(candidate);
            /* A file that cannot be executed does not hide one in a later folder. */
            if (problem == 0 || (problem == EACCES && error == ENOENT)) strcpy(path, candidate);
            if (problem == 0) return 0;
            if (problem == EACCES) error = EACCES;
        }
        is_last = folders[length] == '\0';
        folders += length + 1;
    }
    return error;
}

/* Cuts the next word off *rest; NULL if there is none. */
static char *next_word(char **rest) { return strtok_r(NULL, " \t", rest); }

bool program_interpreter(const char *path, char interpreter[PATH_MAX])
{
    char line[PATH_MAX] = "";
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool is_script = fgets(line, sizeof line, file) && strncmp(line, "#!", 2) == 0;
    fclose(file);
    if (!is_script) return false;

    line[strcspn(line, "\n")] = '\0';
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
    if (program_find(word, interpreter) != 0) strcpy(interpreter, word);
    return true;
}
