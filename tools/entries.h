/* entries.h - what becomes of every FP64 function of cuBLAS, cublasLt and cublasXt, and of
 * cuSOLVER's factorisations: intercepted, or native and why. */
#ifndef TD_TOOLS_ENTRIES_H
#define TD_TOOLS_ENTRIES_H

/* Each prints all of them to stdout: a line for each, docs/entries.md, or JSON. */
void entries_print_lines(void);
void entries_print_markdown(void);
void entries_print_json(void);

#endif
