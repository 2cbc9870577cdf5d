#include "tools/reach.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/routine/entries.h"
#include "tools/elf_file.h"
#include "tools/tandem.h"
#include "tools/visible.h"

/* A library that finds cuBLAS or cuSOLVER by name has one of these names among its texts: nothing
 * is done without a handle. */
static const char first_name[] = "cublasCreate", first_of_cusolver[] = "cusolverDnCreate";

static bool is_wrapped(const char *name)
{
    for (int entry = 0; entry < TD_ENTRY_COUNT; entry++)
        if (strcmp(td_entries[entry].name, name) == 0) return true;
    return false;
}

static int count_wrapped(const elf_file *file)
{
    int count = 0;
    size_t position = 0;
    for (const char *name; (name = elf_file_next_import(file, &position));)
        count += is_wrapped(name);
    return count;
}

static bool looks_up(const elf_file *file)
{
    return (elf_file_imports(file, "dlsym") || elf_file_imports(file, "dlvsym")) &&
           (elf_file_contains(file, first_name) || elf_file_contains(file, first_of_cusolver));
}

static bool is_cublas(const elf_file *file)
{
    const char *name = elf_file_dynamic(file, DT_SONAME, 0);
    return name && strncmp(name, "libcublas", strlen("libcublas")) == 0;
}

/* A file that is there and is no library has nothing to say; a memfd is no file. */
static void note_unread(FILE *facts, const char *path, const char *place, reach *found)
{
    if (access(place, R_OK) == 0 || strncmp(path, "/memfd:", strlen("/memfd:")) == 0) return;
    visible_line(facts, "unread:      %s", path);
    found->unread++;
}

/* The file is opened where the process sees it: one in a container has a root of its own. */
static void examine(FILE *facts, long pid, const char *path, reach *found)
{
    elf_file file;
    char place[2 * PATH_MAX];
    snprintf(place, sizeof place, "/proc/%ld/root%s", pid, path);
    if (!elf_file_open(&file, place)) {
        note_unread(facts, path, place, found);
        return;
    }
    const bool is_tandem = elf_file_exports(&file, "tandem_version") != ELF_NO_EXPORT;
    const int count = is_tandem || is_cublas(&file) ? 0 : count_wrapped(&file);
    found->has_tandem |= is_tandem;
    if (is_tandem) {
        visible_line(facts, "Tandem:      %s is loaded", path);
    } else if (count > 0) {
        visible_line(facts, "reached:     %s, by %d functions", path, count);
        found->reached++;
    } else if (!is_cublas(&file) && looks_up(&file)) {
        visible_line(facts, "uncertain:   %s may have looked functions up, and keep them", path);
        found->uncertain++;
    }
    elf_file_close(&file);
}

/* True if a line of /proc/PID/maps is of memory that holds code, by its rights: "r-xp". */
static bool is_code(const char *line)
{
    const char *rights = strchr(line, ' ');
    return rights && strlen(rights) > 3 && rights[3] == 'x';
}

bool reach_print(FILE *facts, long pid, reach *found)
{
    char name[64], line[PATH_MAX + 128], last[PATH_MAX + 128] = "";
    *found = (reach){0};
    snprintf(name, sizeof name, "/proc/%ld/maps", pid);
    FILE *maps = fopen(name, "re");
    if (!maps) return complain("cannot examine process %ld: %s", pid, strerror(errno));
    /* The mappings of a file follow one another. */
    while (fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        if (!path || !is_code(line)) continue;
        path[strcspn(path, "\n")] = '\0';
        if (strcmp(path, last) == 0) continue;
        strcpy(last, path);
        examine(facts, pid, path, found);
    }
    fclose(maps);
    return true;
}
