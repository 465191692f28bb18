// What http.c needs of a C library; libc.c has it.
#ifndef STRING_H
#define STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memset(void *to, int byte, size_t length);
size_t strlen(const char *text);

#endif
