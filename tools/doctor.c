#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cuda/device_code.h"
#include "lib/report/json_text.h"
#include "tools/doctor.h"
#include "tools/elf_file.h"
#include "tools/entries.h"
#include "tools/examine.h"
#include "tools/loader.h"
#include "tools/machine.h"
#include "tools/placement.h"
#include "tools/program.h"
#include "tools/reach.h"
#include "tools/tandem.h"
#include "tools/visible.h"

#define NO_GPU_SPEED "whose speed says nothing about a GPU"

/* What is said of a machine or a program. */
typedef struct {
    FILE *facts; /* lines of a name and a text, with a colon between */
    preload_verdict verdict;
    char reason[EXAMINE_REASON_BYTES];
} finding;

static void conclude(finding *f, preload_verdict verdict, const char *reason)
{
    f->verdict = verdict;
    snprintf(f->reason, sizeof f->reason, "%s", reason);
}

static void print_devices(FILE *out, const machine *m)
{
    if (m->driver_version)
        fprintf(out, "driver:      CUDA %d.%d\n", m->driver_version / 1000,
                m->driver_version % 1000 / 10);
    if (m->device_count == 0) fprintf(out, "device:      none (%s)\n", m->reason);
    for (int i = 0; i < m->device_count; i++) {
        const td_card *card = &m->devices[i].card;
        fprintf(out, "device %d:    %s, compute capability %d.%d, %.1f GiB\n", i, card->name,
                card->major, card->minor, (double)m->devices[i].memory_bytes / (double)(1 << 30));
    }
}

/* The libraries that programs of each CUDA version would get, with the version that their file
 * names carry. */
static void print_libraries(FILE *out)
{
    static const char names[] = "libcudart.so.11.0:libcudart.so.12:libcudart.so.13:"
                                "libcublas.so.11:libcublas.so.12:libcublas.so.13";
    loaded_set set;
    int found = 0;
    if (!loaded_set_find(&set, names)) return;
    for (int i = 0; i < set.count; i++) {
        const loaded_library *library = &set.libraries[i];
        if (!library->path || !strstr(names, library->name)) continue;
        char *real = realpath(library->path, NULL);
        visible_line(out, "library:     %s is %s", library->name, real ? real : library->path);
        free(real);
        found++;
    }
    if (!found) fprintf(out, "library:     the loader would find no libcudart and no libcublas\n");
    loaded_set_close(&set);
}

/* Variables by which cuBLAS emulates FP64 itself: products that Tandem leaves native are cuBLAS's
 * then, and need not be binary64's. */
static void print_emulation(FILE *out)
{
    static const char *const prefixes[] = {"CUBLAS_EMULAT", "CUBLAS_FIXEDPOINT_EMULATION"};
    for (char *const *variable = environ; *variable; variable++)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) == 0)
                visible_line(
                    out, "emulation:   %s: products that stay native may be cuBLAS's own emulation",
                    *variable);
}

static bool print_placement(FILE *out, const char *label, const char *name)
{
    char path[PATH_MAX];
    const bool is_found = placement_find(name, path);
    visible_line(out, "%-12s %s", label, is_found ? path : "not built");
    return is_found;
}

/* The names of the device code in the library for GPUs, which the caller frees; NULL if it does not
 * say. */
static char *read_archs(void)
{
    char path[PATH_MAX], *archs = NULL;
    elf_file file;
    elf_position position = {NULL};
    if (!placement_find(PLACEMENT_CUDA, path) || !elf_file_open(&file, path)) return NULL;
    const char *text = elf_file_next_text(&file, TD_DEVICE_CODE_MARK, &position);
    if (text) archs = strdup(text + sizeof TD_DEVICE_CODE_MARK - 1);
    elf_file_close(&file);
    return archs;
}

/* What of it each device runs. False if there is a device that runs none. */
static bool print_code(FILE *out, const machine *m)
{
    bool is_there = true;
    char *archs = read_archs(), text[TD_DEVICE_CODE_TEXT];
    for (int i = 0; archs && i < m->device_count; i++) {
        const td_card *card = &m->devices[i].card;
        const td_device_code code =
            td_device_code_for(archs, 10 * card->major + card->minor, td_device_code_is_forced());
        fprintf(out, "code %d:      %s\n", i, td_device_code_print(code, text));
        if (!code.capability) is_there = false;
    }
    free(archs);
    return is_there;
}

/* What was concluded holds only where the libraries can be preloaded from where they are. */
static void check_preload(finding *f, bool on_host_device)
{
    char path[PATH_MAX];
    for (const char *const *name = placement_preloaded(on_host_device); *name; name++) {
        if (!placement_find(*name, path) || placement_is_nameable(path)) continue;
        f->verdict = PRELOAD_FAILS;
        snprintf(f->reason, sizeof f->reason, PLACEMENT_NOT_NAMEABLE, path);
        return;
    }
}

static void examine_machine(finding *f)
{
    machine m;
    machine_query(&m);
    print_devices(f->facts, &m);
    print_libraries(f->facts);
    print_emulation(f->facts);
    const bool has_cuda = print_placement(f->facts, "CUDA:", PLACEMENT_CUDA);
    const bool has_code = print_code(f->facts, &m);
    print_placement(f->facts, "host device:", PLACEMENT_HOST);
    if (m.device_count > 0 && has_cuda && !has_code)
        conclude(f, PRELOAD_FAILS, "this build has no code for a device: its products stay native");
    else if (m.device_count > 0 && has_cuda)
        conclude(f, PRELOAD_WORKS, "programs run on the GPU");
    else if (placement_has_host_device())
        conclude(f, PRELOAD_WORKS, "programs run on the host device, " NO_GPU_SPEED);
    else if (m.device_count > 0)
        conclude(f, PRELOAD_FAILS, "this build has neither CUDA back end nor host device");
    else
        conclude(f, PRELOAD_FAILS, "there is neither a CUDA device nor the host device");
    if (f->verdict != PRELOAD_FAILS) check_preload(f, m.device_count == 0 || !has_cuda);
}

/* False, after a line that says why, if there is no such file. */
static bool examine_named(finding *f, const char *name)
{
    char path[PATH_MAX], here[PATH_MAX], installed[PATH_MAX];
    int error = program_find(name, path);
    /* A file of this folder, though `tandem run` would want it with its path. */
    if (error == ENOENT && name[0] && !strchr(name, '/') &&
        snprintf(here, sizeof here, "./%s", name) < PATH_MAX)
        error = program_find(here, path);
    if (error != 0 && error != EACCES) /* one that cannot be executed can be looked at */
        return complain("cannot examine '%s': %s", name, strerror(error));
    machine m;
    machine_query(&m);
    const bool on_host_device = m.device_count == 0 || !placement_find(PLACEMENT_CUDA, installed);
    f->verdict = examine_program(f->facts, path, on_host_device, f->reason);
    if (f->verdict != PRELOAD_FAILS) check_preload(f, on_host_device);
    return true;
}

/* What an attach to a running process would reach; false, after a line, if that cannot be seen. */
static bool examine_process(finding *f, const char *text)
{
    char *end;
    reach r;
    const long pid = strtol(text, &end, 10);
    if (*end || end == text || pid <= 0 || pid > INT_MAX)
        return complain("--attach is '%s'; allowed: the number of a process", text);
    if (!reach_print(f->facts, pid, &r)) return false;
    if (r.uncertain > 0)
        conclude(f, PRELOAD_MAY_WORK, "functions that were looked up already stay cuBLAS's");
    else if (r.unread > 0)
        conclude(f, PRELOAD_MAY_WORK, "not all that is loaded there can be read");
    else if (r.reached > 0)
        conclude(f, PRELOAD_WORKS, "all that calls cuBLAS there imports it");
    else
        conclude(f, PRELOAD_FAILS, "nothing that is loaded there calls cuBLAS");
    return true;
}

static const char *const verdicts[] = {
    [PRELOAD_WORKS] = "works", [PRELOAD_MAY_WORK] = "may work", [PRELOAD_FAILS] = "will not work"};

bool doctor_print(FILE *out)
{
    finding f = {.facts = out, .verdict = PRELOAD_FAILS};
    examine_machine(&f);
    visible_line(out, "verdict:     %s: %s", verdicts[f.verdict], f.reason);
    return f.verdict != PRELOAD_FAILS;
}

/* The verdict, and the facts as a list: names may come several times. */
static void print_json(const finding *f, char *facts)
{
    td_json_print_members(stdout, "{\n  ",
                          (const td_json_member[]){{"verdict", verdicts[f->verdict]},
                                                   {"reason", f->reason},
                                                   {NULL, NULL}});
    printf(",\n  \"facts\": [");
    const char *start = "\n    {";
    char *rest = facts;
    for (char *line; (line = strtok_r(rest, "\n", &rest)); start = ",\n    {") {
        char *text = line + strcspn(line, ":");
        if (*text) *text++ = '\0';
        text += strspn(text, " ");
        td_json_print_members(
            stdout, start, (const td_json_member[]){{"name", line}, {"text", text}, {NULL, NULL}});
        printf("}");
    }
    printf("\n  ]\n}\n");
}

static void print_text(const finding *f, const char *facts)
{
    fputs(facts, stdout);
    visible_line(stdout, "verdict:     %s: %s", verdicts[f->verdict], f->reason);
}

enum { WANTS_JSON, WANTS_ENTRIES, WANTS_MARKDOWN, ATTACH };

static void print_entries(const command_line *line)
{
    if (line->values[WANTS_JSON])
        entries_print_json();
    else if (line->values[WANTS_MARKDOWN])
        entries_print_markdown();
    else
        entries_print_lines();
}

static int run(const command_line *line)
{
    if (line->values[WANTS_ENTRIES]) {
        print_entries(line);
        return 0;
    }
    if (line->values[WANTS_MARKDOWN])
        return usage_error("doctor --markdown goes with --entries alone");
    finding f = {.verdict = PRELOAD_FAILS};
    char *facts = NULL;
    size_t length = 0;
    bool is_examined = true;
    f.facts = open_memstream(&facts, &length);
    if (!f.facts) return 1;
    if (line->values[ATTACH])
        is_examined = examine_process(&f, line->values[ATTACH]);
    else if (line->count > 0)
        is_examined = examine_named(&f, line->arguments[0]);
    else
        examine_machine(&f);
    fclose(f.facts);
    if (is_examined && line->values[WANTS_JSON])
        print_json(&f, facts);
    else if (is_examined)
        print_text(&f, facts);
    free(facts);
    return !is_examined ? EXIT_USAGE : f.verdict == PRELOAD_FAILS ? 1 : 0;
}

const command command_doctor = {
    .name = "doctor",
    .arguments = "[PROGRAM [ARGUMENT...]]",
    .most = -1,
    .summary = "say what this machine has, or whether a program's products can be intercepted",
    .details = "Ends with 0 if it will work and with 1 if it will not.",
    .options = {[WANTS_JSON] = {"json", NULL, "print it as JSON"},
                [WANTS_ENTRIES] = {"entries", NULL,
                                   "list all FP64 functions: intercepted or why not"},
                [WANTS_MARKDOWN] = {"markdown", NULL,
                                    "with --entries, write docs/entries.md instead"},
                [ATTACH] = {"attach", "NUMBER",
                            "say what attaching Tandem to the process of this number would reach"}},
    .alone = {{WANTS_ENTRIES, "--json or --markdown"},
              {WANTS_MARKDOWN, "--entries"},
              {ATTACH, "--json"}},
    .run = run,
};
