#include "tools/elf_file.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_within(uint64_t offset, uint64_t bytes, uint64_t size)
{
    return offset <= size && bytes <= size - offset;
}

static void read_segments(elf_file *file)
{
    size_t count = 0;
    struct stat info;
    if (fstat(file->descriptor, &info) != 0) return;
    const uint64_t size = (uint64_t)info.st_size;
    file->is_cut = elf_getphdrnum(file->elf, &count) != 0 ||
                   !ends_within(file->header.e_shoff,
                                (uint64_t)file->header.e_shnum * file->header.e_shentsize, size);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        const bool is_there = gelf_getphdr(file->elf, (int)i, &segment) != NULL;
        if (!is_there || !ends_within(segment.p_offset, segment.p_filesz, size))
            file->is_cut = true;
        if (!is_there) continue;
        if (segment.p_type == PT_DYNAMIC) file->is_dynamic = true;
        if (segment.p_type != PT_INTERP || segment.p_filesz >= sizeof file->interpreter) continue;
        const ssize_t length =
            pread(file->descriptor, file->interpreter, segment.p_filesz, (off_t)segment.p_offset);
        if (length < 0) file->interpreter[0] = '\0';
    }
}

bool elf_file_open(elf_file *file, const char *path)
{
    elf_version(EV_CURRENT);
    memset(file, 0, sizeof *file);
    if (snprintf(file->path, sizeof file->path, "%s", path) >= (int)sizeof file->path) return false;
    /* Whoever opens a FIFO waits for a writer. */
    file->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file->descriptor < 0) return false;
    struct stat info;
    if (fstat(file->descriptor, &info) == 0 && S_ISREG(info.st_mode))
        file->elf = elf_begin(file->descriptor, ELF_C_READ_MMAP, NULL);
    if (file->elf && elf_kind(file->elf) == ELF_K_ELF && gelf_getehdr(file->elf, &file->header)) {
        read_segments(file);
        return true;
    }
    elf_file_close(file);
    return false;
}

void elf_file_close(elf_file *file)
{
    if (file->elf) elf_end(file->elf);
    close(file->descriptor);
    file->elf = NULL;
}

bool elf_file_matches(const elf_file *a, const elf_file *b)
{
    return a->header.e_machine == b->header.e_machine &&
           a->header.e_ident[EI_CLASS] == b->header.e_ident[EI_CLASS];
}

/* The next section of a type after section (NULL: the first), with its header and data; NULL if
 * there is none. */
static Elf_Scn *next_section(const elf_file *file, Elf_Scn *section, GElf_Word type,
                             GElf_Shdr *header, Elf_Data **data)
{
    while ((section = elf_nextscn(file->elf, section))) {
        if (!gelf_getshdr(section, header) || header->sh_type != type) continue;
        /* Raw: nothing is converted or copied, which counts in libraries of a gigabyte. */
        *data = type == SHT_PROGBITS ? elf_rawdata(section, NULL) : elf_getdata(section, NULL);
        if (*data) return section;
    }
    return NULL;
}

const char *elf_file_dynamic(const elf_file *file, GElf_Sxword tag, int index)
{
    GElf_Shdr header;
    Elf_Data *data;
    if (!next_section(file, NULL, SHT_DYNAMIC, &header, &data)) return NULL;
    GElf_Dyn entry;
    for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
        if (entry.d_tag == tag && index-- == 0)
            return elf_strptr(file->elf, header.sh_link, entry.d_un.d_val);
    return NULL;
}

const char *elf_file_next_import(const elf_file *file, size_t *position)
{
    GElf_Shdr header;
    Elf_Data *data;
    GElf_Sym symbol;
    if (!next_section(file, NULL, SHT_DYNSYM, &header, &data)) return NULL;
    while (gelf_getsym(data, (int)*position, &symbol)) {
        ++*position;
        if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
        const char *name = elf_strptr(file->elf, header.sh_link, symbol.st_name);
        if (name) return name;
    }
    return NULL;
}

bool elf_file_imports(const elf_file *file, const char *symbol)
{
    size_t position = 0;
    for (const char *name; (name = elf_file_next_import(file, &position));)
        if (strcmp(name, symbol) == 0) return true;
    return false;
}

elf_export elf_file_exports(const elf_file *file, const char *symbol)
{
    GElf_Shdr header;
    Elf_Data *data;
    GElf_Sym found;
    if (!next_section(file, NULL, SHT_DYNSYM, &header, &data)) return ELF_NO_EXPORT;
    for (int i = 0; gelf_getsym(data, i, &found); i++) {
        if (found.st_shndx == SHN_UNDEF || GELF_ST_TYPE(found.st_info) != STT_FUNC) continue;
        const char *name = elf_strptr(file->elf, header.sh_link, found.st_name);
        if (name && strcmp(name, symbol) == 0)
            return GELF_ST_BIND(found.st_info) == STB_WEAK ? ELF_WEAK_EXPORT : ELF_STRONG_EXPORT;
    }
    return ELF_NO_EXPORT;
}

/* The next section of loaded data after section (NULL: the first). */
static Elf_Scn *next_loaded(const elf_file *file, Elf_Scn *section, Elf_Data **data)
{
    GElf_Shdr header;
    while ((section = next_section(file, section, SHT_PROGBITS, &header, data)))
        if (header.sh_flags & SHF_ALLOC && !(header.sh_flags & SHF_EXECINSTR) && (*data)->d_buf)
            return section;
    return NULL;
}

bool elf_file_contains(const elf_file *file, const char *text)
{
    Elf_Data *data;
    for (Elf_Scn *section = NULL; (section = next_loaded(file, section, &data));)
        if (memmem(data->d_buf, data->d_size, text, strlen(text))) return true;
    return false;
}

const char *elf_file_next_text(const elf_file *file, const char *start, elf_position *position)
{
    Elf_Data *data = position->section ? elf_rawdata(position->section, NULL) : NULL;
    for (;;) {
        if (!data) {
            position->section = next_loaded(file, position->section, &data);
            if (!position->section) return NULL;
            position->from = data->d_buf;
        }
        const char *end = (const char *)data->d_buf + data->d_size;
        const char *text =
            memmem(position->from, (size_t)(end - position->from), start, strlen(start));
        if (!text) {
            data = NULL;
            continue;
        }
        position->from = text + 1;
        if (memchr(text, '\0', (size_t)(end - text))) return text;
    }
}
