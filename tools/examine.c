#include "tools/examine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/routine/entries.h"
#include "lib/options/options.h"
#include "tools/elf_file.h"
#include "tools/loader.h"
#include "tools/placement.h"
#include "tools/program.h"
#include "tools/visible.h"

/* A text that every build of cuBLAS holds, also where its symbols were stripped. */
#define CUBLAS_MARK "CUBLAS_LOGINFO_DBG"

loading examine_loading(const char *path, bool on_host_device, char reason[EXAMINE_REASON_BYTES])
{
    elf_file file;
    char wrapper[PATH_MAX];
    if (!examine_open(&file, path, wrapper, reason)) return LOADING_IDLES;
    const bool is_good = examine_file(&file, on_host_device, reason),
               has_musl = examine_is_for_musl(&file);
    elf_file_close(&file);
    return is_good ? LOADING_WORKS : has_musl ? LOADING_BREAKS : LOADING_IDLES;
}

/* What was found in the program and its libraries. */
typedef struct {
    FILE *out;            /* where lines about each file go */
    int imports;          /* functions that Tandem intercepts, over all files */
    int others;           /* other cuBLAS functions */
    bool is_part_missing; /* a library was not found, so that not all is known */
    bool imports_dlopen, imports_exec;
    const char *wrapper;   /* the interpreter that is a script itself; "": none */
    bool is_shell_script;  /* what was looked into is the shell */
    char holder[PATH_MAX]; /* a file that holds cuBLAS itself; "": none */
    char opener[PATH_MAX]; /* a file that seems to open cuBLAS with dlopen */
    int lookups;           /* functions that Tandem intercepts, by name in such files */
    const char *unseen;    /* why functions that dlsym finds are not seen; NULL: they are */
} findings;

/* Why the library that will be preloaded does not see what a program looks up with dlsym; NULL: it
 * does. */
static const char *why_unseen(bool on_host_device)
{
    td_options options;
    elf_file library;
    char path[PATH_MAX];
    if (td_options_parse(&options, environ) && !options.dlsym) return "TANDEM_DLSYM is off";
    if (!placement_find(on_host_device ? PLACEMENT_HOST : PLACEMENT_CUDA, path) ||
        !elf_file_open(&library, path))
        return "there is no library to preload";
    const bool is_there = elf_file_exports(&library, "dlsym") != ELF_NO_EXPORT;
    elf_file_close(&library);
    return is_there ? NULL : "this build of Tandem does not stand before dlsym";
}

/* CUDA's and Tandem's own libraries are what programs call, not callers. cuBLASMp, NVBLAS
 * (libcublasmp, libnvblas) and cuSOLVER are callers. On the host device the stand-in takes
 * cuSOLVER's place, and calls no cuBLAS. */
static bool is_own(const char *name, bool on_host_device)
{
    return examine_starts_with(name, "libcublas.so") ||
           examine_starts_with(name, "libcublasLt.so") ||
           examine_starts_with(name, "libcudart.so") || examine_starts_with(name, "libtandem") ||
           (on_host_device && strcmp(name, PLACEMENT_CUSOLVER) == 0);
}

/* Functions of cuBLAS, cublasLt and cublasXt; cuBLASMp's are another library's. */
static bool is_cublas_function(const char *name)
{
    return examine_starts_with(name, "cublas") && !examine_starts_with(name, "cublasMp");
}

static void print_imports(const elf_file *file, findings *f)
{
    int listed = 0, of_cublas = 0, others = 0;
    for (int e = 0; e < TD_ENTRY_COUNT; e++) {
        if (!elf_file_imports(file, td_entries[e].name)) continue;
        of_cublas += td_entry_maker((td_entry)e) == TD_CUBLAS;
        fprintf(f->out, "%s%s", listed++ ? ", " : "intercepted: ", td_entries[e].name);
    }
    size_t position = 0;
    for (const char *name; (name = elf_file_next_import(file, &position));)
        others += is_cublas_function(name);
    others -= of_cublas;
    if (listed) visible_line(f->out, " (in %s)", examine_base_name(file->path));
    if (others > 0)
        visible_line(f->out, "left alone:  %d other cuBLAS function%s (in %s)", others,
                     others > 1 ? "s" : "", examine_base_name(file->path));
    f->imports += listed;
    f->others += others;
}

/* Which intercepted functions' names are texts of the file; returns how many. */
static int find_lookups(const elf_file *file, bool is_named[TD_ENTRY_COUNT])
{
    static const char *const starts[] = {"cublas", "cusolverDn"};
    int count = 0;
    memset(is_named, 0, TD_ENTRY_COUNT * sizeof *is_named);
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        elf_position position = {NULL, NULL};
        for (const char *text; (text = elf_file_next_text(file, starts[s], &position));)
            for (int e = 0; e < TD_ENTRY_COUNT; e++)
                is_named[e] |= strcmp(text, td_entries[e].name) == 0;
    }
    for (int e = 0; e < TD_ENTRY_COUNT; e++) count += is_named[e];
    return count;
}

/* A file that loads libraries at run time and is not linked to cuBLAS opens that if it holds its
 * name or, where the name is put together at run time, those of functions. */
static void look_for_lookups(const elf_file *file, findings *f)
{
    bool is_named[TD_ENTRY_COUNT];
    const int count = find_lookups(file, is_named);
    int listed = 0;
    if (count == 0 && !elf_file_contains(file, "libcublas")) return;
    snprintf(f->opener, sizeof f->opener, "%s", examine_base_name(file->path));
    f->lookups += count;
    if (count == 0) return;
    for (int e = 0; e < TD_ENTRY_COUNT; e++)
        if (is_named[e])
            fprintf(f->out, "%s%s", listed++ ? ", " : "looked up:   ", td_entries[e].name);
    visible_line(f->out, " (in %s): %s%s", examine_base_name(file->path),
                 f->unseen ? "not seen, as " : "intercepted", f->unseen ? f->unseen : "");
}

/* The host device's stand-ins, in whose symbols it stands what they do not implement: stubs are
 * weak (hostgpu/stub.h). */
enum { STAND_INS = 4 };
typedef struct {
    elf_file files[STAND_INS];
    int count;
} stand_ins;

static void stand_ins_open(stand_ins *all)
{
    static const char *const names[STAND_INS] = {PLACEMENT_HOSTDEVICE, PLACEMENT_CUBLAS,
                                                 PLACEMENT_CUBLAS_LT, PLACEMENT_CUSOLVER};
    char path[PATH_MAX];
    all->count = 0;
    for (int i = 0; i < STAND_INS; i++)
        if (placement_find(names[i], path) && elf_file_open(&all->files[all->count], path))
            all->count++;
}

static void stand_ins_close(stand_ins *all)
{
    while (all->count > 0) elf_file_close(&all->files[--all->count]);
}

static bool is_stub(const stand_ins *all, const char *name)
{
    for (int i = 0; i < all->count; i++)
        if (elf_file_exports(&all->files[i], name) == ELF_WEAK_EXPORT) return true;
    return false;
}

/* Functions that the file calls and the host device does not implement: the first ones by name, and
 * how many more there are. */
static void print_stubs(FILE *out, const elf_file *file, const stand_ins *all)
{
    enum { NAMED = 6 };
    int count = 0;
    size_t position = 0;
    for (const char *name; (name = elf_file_next_import(file, &position));) {
        if (!examine_starts_with(name, "cu") || !is_stub(all, name)) continue;
        if (count++ < NAMED) fprintf(out, "%s%s", count == 1 ? "not there:   " : ", ", name);
    }
    if (count > NAMED) fprintf(out, " and %d more", count - NAMED);
    if (count > 0)
        visible_line(out, " (in %s): the host device returns that they are not supported",
                     examine_base_name(file->path));
}

/* Functions of cuBLAS's names alone do not make a file hold it: trampolines have them, too, which
 * look the proper ones up at run time. */
static bool holds_cublas(const elf_file *file)
{
    return !examine_needs(file, "libcublas.so") && elf_file_contains(file, CUBLAS_MARK);
}

static bool imports_any(const elf_file *file, const char *const names[])
{
    for (int i = 0; names[i]; i++)
        if (elf_file_imports(file, names[i])) return true;
    return false;
}

/* Libraries of the system that load nothing but parts of themselves at run time, and start nothing
 * but helpers of their own. */
static bool is_of_system(const elf_file *file)
{
    static const char *const names[] = {"libc.so.",       "libselinux.so.", "libcrypto.so.",
                                        "libsystemd.so.", "libpam.so.",     "libp11-kit.so."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (examine_starts_with(examine_base_name(file->path), names[i])) return true;
    return false;
}

/* on_host: NULL for programs that run on a GPU. */
static void look_into(const elf_file *file, const stand_ins *on_host, findings *f)
{
    static const char *const loading[] = {"dlopen", "dlmopen", NULL};
    static const char *const starting[] = {"execv",  "execve", "execvp",      "execvpe",
                                           "execl",  "execlp", "posix_spawn", "posix_spawnp",
                                           "system", NULL};
    const bool has_dlopen = !is_of_system(file) && imports_any(file, loading);
    print_imports(file, f);
    if (on_host) print_stubs(f->out, file, on_host);
    f->imports_dlopen |= has_dlopen;
    f->imports_exec |= !is_of_system(file) && imports_any(file, starting);
    if (holds_cublas(file))
        snprintf(f->holder, sizeof f->holder, "%s", examine_base_name(file->path));
    else if (has_dlopen && !examine_needs(file, "libcublas.so"))
        look_for_lookups(file, f);
}

/* Of a program that uses cuBLAS, as far as can be seen. */
static void explain_use(const findings *f, char *reason)
{
    if (f->holder[0])
        examine_because(reason,
                        "%s holds cuBLAS itself (static linking): calls within it are not seen",
                        f->holder);
    else if (f->opener[0] && f->unseen)
        examine_because(
            reason,
            "%s opens cuBLAS with dlopen: functions that it looks up with dlsym are not seen, "
            "as %s",
            f->opener, f->unseen);
    else if (f->opener[0] && !f->lookups && !f->imports)
        examine_because(
            reason,
            "%s opens cuBLAS with dlopen, but no function that Tandem intercepts is named in it",
            f->opener);
    else if (f->opener[0])
        examine_because(
            reason,
            "its products can be intercepted: %s opens cuBLAS with dlopen, and what it looks up "
            "with dlsym is seen",
            f->opener);
    else
        examine_because(reason, "its products can be intercepted");
}

static void explain_no_use(const findings *f, char *reason)
{
    if (f->wrapper[0] && (f->imports_dlopen || f->imports_exec))
        examine_because(
            reason,
            "its interpreter %s is a script itself, which starts another program: name that "
            "one to doctor (`pyenv which python3`, for example, says which it is)",
            f->wrapper);
    else if (f->is_shell_script && f->imports_exec)
        examine_because(reason,
                        "it is a shell script, which starts programs: they are preloaded, too, and "
                        "doctor examines each (`pyenv which python3`, for example, says which one "
                        "a version manager's script starts)");
    else if (f->imports_dlopen)
        examine_because(reason,
                        "no cuBLAS found, but it loads libraries at run time: those that import "
                        "from cuBLAS are intercepted, functions looked up with dlsym (ctypes) "
                        "%s%s%s",
                        f->unseen ? "are not, as " : "too", f->unseen ? f->unseen : "",
                        f->imports_exec ? "; programs that it starts are preloaded, too" : "");
    else if (f->imports_exec)
        examine_because(reason,
                        "no cuBLAS found, but it starts programs: they are preloaded, too, and "
                        "doctor examines each");
    else if (f->others > 0 || f->is_part_missing)
        examine_because(reason,
                        "neither it nor its libraries import a function that Tandem intercepts");
    else
        examine_because(reason,
                        "it uses no cuBLAS: neither it nor its libraries import from it, load "
                        "libraries at run time or start programs");
}

static void explain(const findings *f, char *reason)
{
    const bool is_used = f->holder[0] || f->opener[0] || f->imports > 0;
    (is_used ? explain_use : explain_no_use)(f, reason);
}

static preload_verdict conclude(const findings *f)
{
    if (f->imports > 0 || (f->lookups > 0 && !f->unseen)) return PRELOAD_WORKS;
    if (f->holder[0] || (f->opener[0] && f->unseen)) return PRELOAD_FAILS;
    return f->imports_dlopen || f->imports_exec ? PRELOAD_MAY_WORK : PRELOAD_FAILS;
}

/* A version manager's python3 is such a script. */
static bool is_shell(const char *path)
{
    static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(examine_base_name(path), names[i]) == 0) return true;
    return false;
}

static preload_verdict examine_set(FILE *out, const elf_file *program, bool is_script,
                                   const char *wrapper, const loaded_set *set, bool on_host_device,
                                   char *reason)
{
    findings f = {.out = out,
                  .wrapper = wrapper,
                  .is_shell_script = is_script && is_shell(program->path),
                  .unseen = why_unseen(on_host_device)};
    stand_ins all = {.count = 0};
    const stand_ins *const on_host = on_host_device ? &all : NULL;
    if (on_host_device) stand_ins_open(&all);
    look_into(program, on_host, &f);
    bool is_good = !on_host_device || examine_on_host_device(program, reason);
    for (int i = 0; i < set->count; i++) {
        const loaded_library *library = &set->libraries[i];
        const bool is_cudas = is_own(examine_base_name(library->name), on_host_device);
        elf_file file;
        if (!library->path && !(on_host_device && is_cudas))
            visible_line(f.out, "not found:   %s", library->name);
        f.is_part_missing |= !library->path && !is_cudas;
        if (is_cudas || !library->path || !elf_file_open(&file, library->path)) continue;
        look_into(&file, on_host, &f);
        is_good = is_good && (!on_host_device || examine_on_host_device(&file, reason));
        elf_file_close(&file);
    }
    stand_ins_close(&all);
    if (set->complaint[0])
        is_good = examine_because(reason, "the loader refuses it: %s", set->complaint);
    if (!is_good) return PRELOAD_FAILS;
    explain(&f, reason);
    return conclude(&f);
}

static void print_kind(FILE *out, const char *path, const char *wrapper, const elf_file *file)
{
    visible_line(out, "program:     %s", path);
    if (wrapper[0]) visible_line(out, "wrapper:     %s, a script itself", wrapper);
    if (strcmp(path, file->path) != 0) visible_line(out, "interpreter: %s", file->path);
    if (program_runner(path)) visible_line(out, "run as:      %s %s", program_runner(path), path);
    fprintf(out, "kind:        %s, %s-bit\n",
            file->is_cut                                               ? "damaged"
            : file->interpreter[0]                                     ? "dynamically linked"
            : file->is_dynamic && elf_file_dynamic(file, DT_NEEDED, 0) ? "shared library"
                                                                       : "statically linked",
            file->header.e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32");
}

preload_verdict examine_program(FILE *out, const char *path, bool on_host_device,
                                char reason[EXAMINE_REASON_BYTES])
{
    elf_file file;
    loaded_set set;
    char wrapper[PATH_MAX];
    if (!examine_open(&file, path, wrapper, reason)) return PRELOAD_FAILS;
    print_kind(out, path, wrapper, &file);
    if (!examine_file(&file, false, reason)) {
        elf_file_close(&file);
        return PRELOAD_FAILS;
    }
    preload_verdict verdict = PRELOAD_FAILS;
    if (!loaded_set_open(&set, file.path)) {
        examine_because(reason, "the loader cannot be asked for its libraries");
        goto out;
    }
    verdict = examine_set(out, &file, strcmp(path, file.path) != 0, wrapper, &set, on_host_device,
                          reason);
    loaded_set_close(&set);
out:
    elf_file_close(&file);
    return verdict;
}
