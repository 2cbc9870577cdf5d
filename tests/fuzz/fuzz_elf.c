/* fuzz_elf.c - the reader of programs and libraries. */
#include <elf.h>

#include "fuzz.h"
#include "tools/elf_file.h"

void fuzz_one(const uint8_t *data, size_t bytes)
{
    static const GElf_Sxword tags[] = {DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH};
    size_t position = 0;
    elf_file file;
    if (!elf_file_open(&file, fuzz_file(data, bytes))) return;
    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++)
        for (int i = 0; i < 100 && elf_file_dynamic(&file, tags[t], i);) i++;
    for (int i = 0; i < 1000 && elf_file_next_import(&file, &position);) i++;
    (void)elf_file_imports(&file, "cublasDgemm_v2");
    (void)elf_file_exports(&file, "cublasDgemm_v2");
    (void)elf_file_contains(&file, "libcublas.so.13");
    (void)elf_file_matches(&file, &file);
    elf_file_close(&file);
}
