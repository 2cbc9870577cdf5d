#include "tools/examine_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tools/placement.h"
#include "tools/program.h"

/* A text that every build of the CUDA runtime holds, also where its symbols were stripped. */
#define CUDART_MARK "cudaErrorMissingConfiguration"

bool examine_because(char *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, EXAMINE_REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

bool examine_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

const char *examine_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool examine_needs(const elf_file *file, const char *library)
{
    const char *name;
    for (int i = 0; (name = elf_file_dynamic(file, DT_NEEDED, i)); i++)
        if (examine_starts_with(name, library)) return true;
    return false;
}

static bool holds_cudart(const elf_file *file)
{
    return !examine_needs(file, "libcudart.so") && elf_file_contains(file, CUDART_MARK);
}

/* Privileges, for which the loader ignores LD_PRELOAD (ld.so(8), secure-execution mode). */
static bool check_privileges(const char *path, char *reason)
{
    struct stat info;
    if (stat(path, &info) != 0) return examine_because(reason, "it cannot be read");
    if (info.st_mode & (S_ISUID | S_ISGID))
        return examine_because(reason, "it is %s: the loader ignores LD_PRELOAD",
                               info.st_mode & S_ISUID ? "setuid" : "setgid");
    if (getxattr(path, "security.capability", NULL, 0) > 0)
        return examine_because(reason, "it has file capabilities: the loader ignores LD_PRELOAD");
    return true;
}

/* A kind of processor as its users call it; `number` takes those without a name here. */
static const char *machine_name(GElf_Half machine, char number[24])
{
    static const struct {
        GElf_Half machine;
        const char *name;
    } known[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"}, {EM_PPC64, "ppc64"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].machine == machine) return known[i].name;
    snprintf(number, 24, "ELF machine %u", (unsigned)machine);
    return number;
}

static bool check_machine(const elf_file *file, char *reason)
{
    char number[24], own_number[24];
    elf_file self;
    if (!elf_file_open(&self, "/proc/self/exe")) return true;
    const bool matches = elf_file_matches(file, &self);
    const GElf_Half machine = self.header.e_machine;
    elf_file_close(&self);
    if (matches) return true;
    if (file->header.e_ident[EI_CLASS] == ELFCLASS32)
        return examine_because(reason, "it is a 32-bit program, and Tandem's libraries are 64-bit");
    return examine_because(
        reason, "it is for another kind of processor, %s; Tandem's libraries are for %s",
        machine_name(file->header.e_machine, number), machine_name(machine, own_number));
}

bool examine_is_for_musl(const elf_file *file) { return strstr(file->interpreter, "ld-musl"); }

static bool check_loader(const elf_file *file, char *reason)
{
    const bool is_library = file->is_dynamic && elf_file_dynamic(file, DT_NEEDED, 0);
    if (file->is_cut)
        return examine_because(reason, "its file is damaged: it ends before its headers say");
    if (!file->interpreter[0] && !is_library)
        return examine_because(
            reason, "it is statically linked: no loader runs that could preload anything");
    if (examine_is_for_musl(file))
        return examine_because(reason, "it is linked to musl, and Tandem's libraries need glibc");
    return true;
}

/* Other versions of the libraries that the host device stands in for, and those that this build has
 * no stand-in for. */
static bool is_other_version(const char *name)
{
    static const char *const stand_ins[] = {PLACEMENT_CUDART, PLACEMENT_CUBLAS, PLACEMENT_CUSOLVER};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        const size_t length = strcspn(stand_ins[i], ".") + strlen(".so");
        if (strncmp(name, stand_ins[i], length) == 0)
            return strcmp(name, stand_ins[i]) != 0 ||
                   (placement_is_optional(name) && !placement_find(name, path));
    }
    return false;
}

/* Parts of CUDA that a program may need and the host device does not have. */
bool examine_on_host_device(const elf_file *file, char *reason)
{
    static const char *const absent[] = {"libcuda.so", "libcusolverMg", "libcusparse", "libcufft",
                                         "libcurand",  "libcudnn",      "libnccl"};
    if (holds_cudart(file))
        return examine_because(
            reason,
            "%s links the CUDA runtime statically: it works on a GPU, but cannot run on "
            "the host device",
            examine_base_name(file->path));
    if (elf_file_imports(file, "__cudaRegisterFunction"))
        return examine_because(reason,
                               "%s has GPU kernels of its own, which the host device cannot run",
                               examine_base_name(file->path));
    const char *name;
    for (int i = 0; (name = elf_file_dynamic(file, DT_NEEDED, i)); i++) {
        bool is_absent = is_other_version(name);
        for (size_t j = 0; j < sizeof absent / sizeof *absent; j++)
            is_absent |= examine_starts_with(name, absent[j]);
        if (is_absent)
            return examine_because(reason, "%s needs %s, for which the host device has no stand-in",
                                   examine_base_name(file->path), name);
    }
    return true;
}

bool examine_file(const elf_file *file, bool on_host_device, char *reason)
{
    return check_privileges(file->path, reason) && check_machine(file, reason) &&
           check_loader(file, reason) && (!on_host_device || examine_on_host_device(file, reason));
}

bool examine_open(elf_file *file, const char *path, char wrapper[PATH_MAX], char *reason)
{
    enum { DEPTH = 5 };
    char at[PATH_MAX], interpreter[PATH_MAX];
    wrapper[0] = '\0';
    if (elf_file_open(file, path)) return true;
    if (!program_interpreter(path, interpreter))
        return examine_because(reason,
                               "it is neither an ELF program nor a script that can be read");
    for (int depth = 1; depth <= DEPTH; depth++) {
        if (elf_file_open(file, interpreter)) return true;
        strcpy(at, interpreter);
        if (depth == 1) strcpy(wrapper, at);
        if (!program_interpreter(at, interpreter))
            return examine_because(reason, "its interpreter %s cannot be read as a program", at);
    }
    return examine_because(reason, "its interpreters are scripts, more than %d deep", DEPTH);
}
