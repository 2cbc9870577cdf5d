#include "entries.h"

#include <string.h>

#define FAMILY_ROW(family, summary) {#family, summary},
const td_family_info td_families[TD_FAMILY_COUNT] = {TD_FAMILIES(FAMILY_ROW)};

#define ROW(function, family, name) {#function, TD_FAMILY_##family, TD_ROUTINE_##name},

#define ROUTINE(name, forms, shape, kind, types, family) TD_FORMS_##forms(ROW, name, family)
const td_entry_info td_entries[TD_ENTRY_COUNT] = {
#include "routines.def"
};

td_entry td_entry_find(const char *function)
{
    int entry = 0;
    while (entry < TD_ENTRY_COUNT && strcmp(td_entries[entry].name, function) != 0) entry++;
    return (td_entry)entry;
}
