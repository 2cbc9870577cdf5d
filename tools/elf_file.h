/* elf_file.h - what the loader and the doctor need to know of one ELF file. */
#ifndef TD_TOOLS_ELF_FILE_H
#define TD_TOOLS_ELF_FILE_H

#include <gelf.h>
#include <limits.h>
#include <stdbool.h>

typedef struct {
    char path[PATH_MAX];
    int descriptor;
    Elf *elf;
    GElf_Ehdr header;
    bool is_cut;                /* ends before the last byte that its headers speak of */
    bool is_dynamic;            /* has a dynamic section */
    char interpreter[PATH_MAX]; /* the loader that it asks for; "": none */
} elf_file;

/* False, with nothing to close, if the file cannot be read or is no ELF file. */
bool elf_file_open(elf_file *file, const char *path);
void elf_file_close(elf_file *file);

/* True if one process could hold both: the same machine and word size. */
bool elf_file_matches(const elf_file *a, const elf_file *b);

/* The index-th string of the dynamic section with this tag (DT_NEEDED, DT_RPATH ...), or NULL;
 * valid until close. */
const char *elf_file_dynamic(const elf_file *file, GElf_Sxword tag, int index);

/* Names of symbols that the loader must find elsewhere, one after the other: start with
 * *position = 0; NULL at the end. */
const char *elf_file_next_import(const elf_file *file, size_t *position);

bool elf_file_imports(const elf_file *file, const char *symbol);

/* What the file exports under a name. Weak: another file's function of that name would have been
 * taken for it where the file was linked. */
typedef enum { ELF_NO_EXPORT, ELF_WEAK_EXPORT, ELF_STRONG_EXPORT } elf_export;
elf_export elf_file_exports(const elf_file *file, const char *symbol);

/* True if the loaded data of the file holds the text. */
bool elf_file_contains(const elf_file *file, const char *text);

/* A place in the loaded data: start with {NULL}. */
typedef struct {
    Elf_Scn *section;
    const char *from; /* in it */
} elf_position;

/* The texts of the loaded data, up to a zero byte, that start so, one after the other; NULL at the
 * end. */
const char *elf_file_next_text(const elf_file *file, const char *start, elf_position *position);

#endif
