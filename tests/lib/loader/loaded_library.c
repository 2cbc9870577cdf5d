/* loaded_library.c - what the libraries of unit_loaded.c hold: the one that stands for cuBLAS, and,
 * with LINKED, the one that was linked to it. */
int loaded_cublas(void);
int loaded_linked(void);

#ifdef LINKED
int loaded_linked(void) { return loaded_cublas(); }
#else
int loaded_cublas(void) { return 0; }
#endif
