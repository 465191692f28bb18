// What http.c needs of a C library; libc.c has it.
#ifndef STDLIB_H
#define STDLIB_H

#include <stddef.h>

void *realloc(void *old, size_t size);
void free(void *memory);
_Noreturn void abort(void);

#endif
