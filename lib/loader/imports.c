#include "imports.h"

#include <sys/mman.h>
#include <unistd.h>

/* Relocations that make a slot the address of a symbol (ELF ABI supplements of the machines). */
#if defined(__x86_64__)
static bool is_address(uint32_t type)
{
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}
#elif defined(__aarch64__)
static bool is_address(uint32_t type)
{
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
}
#else
static bool is_address(uint32_t type) { return (void)type, false; }
#endif

/* The relocations that have a symbol: those of the table from `first` on. */
typedef struct {
    const td_image *image;
    const ElfW(Sym) * symbols;
    const char *strings;
    void (*body)(const td_import *import, void *context);
    void *context;
} walk;

static void look_at(const walk *w, const ElfW(Rela) * relocation)
{
    const ElfW(Sym) *symbol = &w->symbols[ELF64_R_SYM(relocation->r_info)];
    const uintptr_t slot = w->image->base + relocation->r_offset;
    if (!is_address(ELF64_R_TYPE(relocation->r_info)) || symbol->st_shndx != SHN_UNDEF ||
        relocation->r_addend != 0 || slot % sizeof(void *) != 0)
        return;
    const td_import import = {w->strings + symbol->st_name, (void **)slot};
    w->body(&import, w->context);
}

static void look_at_table(const walk *w, const ElfW(Rela) * table, size_t first, size_t bytes)
{
    for (size_t i = first; table && i < bytes / sizeof *table; i++) look_at(w, &table[i]);
}

void td_imports_each(const td_image *image, void (*body)(const td_import *import, void *context),
                     void *context)
{
    const walk w = {image, td_image_table(image, DT_SYMTAB), td_image_table(image, DT_STRTAB), body,
                    context};
    if (!w.symbols || !w.strings) return;
    /* The first ones are relative to the image, and have no symbol. */
    look_at_table(&w, td_image_table(image, DT_RELA), td_image_number(image, DT_RELACOUNT),
                  td_image_number(image, DT_RELASZ));
    if (td_image_number(image, DT_PLTREL) == DT_RELA)
        look_at_table(&w, td_image_table(image, DT_JMPREL), 0, td_image_number(image, DT_PLTRELSZ));
}

void *td_import_value(void *const *slot) { return __atomic_load_n(slot, __ATOMIC_ACQUIRE); }

/* True if the dynamic linker has made the slot's page read-only: that of whole pages alone. */
static bool is_read_only(const td_image *image, uintptr_t slot, uintptr_t page_bytes)
{
    for (int i = 0; i < image->segment_count; i++) {
        const ElfW(Phdr) *segment = &image->segments[i];
        const uintptr_t start = (image->base + segment->p_vaddr) & -page_bytes,
                        end = (image->base + segment->p_vaddr + segment->p_memsz) & -page_bytes;
        if (segment->p_type == PT_GNU_RELRO && start <= slot && slot < end) return true;
    }
    return false;
}

static bool is_writable(const td_image *image, uintptr_t slot)
{
    for (int i = 0; i < image->segment_count; i++) {
        const ElfW(Phdr) *segment = &image->segments[i];
        const uintptr_t start = image->base + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && slot - start < segment->p_memsz)
            return segment->p_flags & PF_W;
    }
    return false;
}

bool td_import_write(const td_image *image, void **slot, void *value)
{
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE), place = (uintptr_t)slot;
    void *page = (void *)(place & -page_bytes);
    if (!is_writable(image, place)) return false;
    const bool is_closed = is_read_only(image, place, page_bytes);
    if (is_closed && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (is_closed) (void)mprotect(page, page_bytes, PROT_READ);
    return true;
}
