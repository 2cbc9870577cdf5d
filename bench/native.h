/* native.h - cuBLAS's own functions, for programs that link Tandem in front of cuBLAS: dlsym gives these wrappers. */
#ifndef BENCH_NATIVE_H
#define BENCH_NATIVE_H

/* The function of this name in the cuBLAS that is loaded; NULL if none is loaded, or it has no such function. */
void *native_function(const char *name);

#endif
