#include "tools/loader.h"

#include <dlfcn.h>
#include <fcntl.h> /* O_CLOEXEC */
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/elf_file.h"

/* The launcher's own loader: programs choose what the doctor looks at, not what it runs. */
static bool find_loader(char path[PATH_MAX])
{
    elf_file self;
    if (!elf_file_open(&self, "/proc/self/exe")) return false;
    snprintf(path, PATH_MAX, "%s", self.interpreter);
    elf_file_close(&self);
    return path[0] != '\0';
}

/* In the child. What is preloaded here, and requests to say more, are not the program's. */
static void become_loader(const char *loader, const char *program, const char *preload, int output)
{
    char path[PATH_MAX + 2];
    /* What has no slash is a file of this folder. */
    snprintf(path, sizeof path, "%s%s", strchr(program, '/') ? "" : "./", program);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    unsetenv("LD_DEBUG");
    unsetenv("LD_VERBOSE");
    if (preload)
        setenv("LD_PRELOAD", preload, 1);
    else
        unsetenv("LD_PRELOAD");
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    execl(loader, loader, path, (char *)NULL);
    _exit(127);
}

/* Adds what a line says: "\tNAME => PATH (ADDRESS)", "\tNAME => not found", "\tPATH (ADDRESS)", or
 * that the loader gives up. */
static bool add_line(loaded_set *set, char *line)
{
    static const char giving_up[] = ": error while loading shared libraries: ";
    const char *complaint = strstr(line, giving_up);
    if (complaint)
        snprintf(set->complaint, sizeof set->complaint, "%s", complaint + strlen(giving_up));
    if (line[0] != '\t') return true;
    char *name = line + 1, *arrow = strstr(name, " => ");
    char *path = arrow ? arrow + 4 : name, *address = strstr(path, " (0x");
    if (address) *address = '\0';
    if (arrow) *arrow = '\0';
    if (!arrow && name[0] != '/') return true; /* linux-vdso */
    loaded_library *grown =
        realloc(set->libraries, (size_t)(set->count + 1) * sizeof *set->libraries);
    if (!grown) return false;
    set->libraries = grown;
    loaded_library *library = &grown[set->count];
    *library = (loaded_library){.name = strdup(name), .path = address ? strdup(path) : NULL};
    if (!library->name) return false;
    set->count++;
    return true;
}

static bool read_lines(loaded_set *set, FILE *lines)
{
    char line[2 * PATH_MAX];
    bool is_good = true;
    while (fgets(line, sizeof line, lines)) {
        line[strcspn(line, "\n")] = '\0';
        is_good = is_good && add_line(set, line);
    }
    return is_good;
}

static bool list(loaded_set *set, const char *program, const char *preload)
{
    char loader[PATH_MAX];
    int ends[2];
    *set = (loaded_set){0};
    if (!find_loader(loader) || pipe2(ends, O_CLOEXEC) != 0) return false;
    const pid_t child = fork();
    if (child == 0) become_loader(loader, program, preload, ends[1]);
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    const bool is_good = child > 0 && lines && read_lines(set, lines);
    if (lines)
        fclose(lines);
    else
        close(ends[0]);
    int status = 0;
    if (child > 0) waitpid(child, &status, 0);
    if (is_good) return true;
    loaded_set_close(set);
    return false;
}

bool loaded_set_open(loaded_set *set, const char *program) { return list(set, program, NULL); }

bool loaded_set_find(loaded_set *set, const char *names)
{
    Dl_info libc; /* a file that can be listed and has no RPATH */
    return dladdr((const void *)(uintptr_t)gnu_get_libc_version, &libc) &&
           list(set, libc.dli_fname, names);
}

void loaded_set_close(loaded_set *set)
{
    for (int i = 0; i < set->count; i++) {
        free(set->libraries[i].name);
        free(set->libraries[i].path);
    }
    free(set->libraries);
    *set = (loaded_set){0};
}
