#include "entries.h"

#define FAMILY_ROW(family, summary) {#family, summary},
const td_family_info td_families[TD_FAMILY_COUNT] = {TD_FAMILIES(FAMILY_ROW)};

#define ENTRY_ROW(function, family) {#function, TD_FAMILY_##family},
const td_entry_info td_entries[TD_ENTRY_COUNT] = {TD_ENTRIES(ENTRY_ROW)};
