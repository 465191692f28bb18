// Takes the place of a C library. The component answers one request, so memory is never used again; the bytes before a
// block have its size.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) uint8_t heap[65536];
static size_t used;

void *realloc(void *old, size_t size) {
  size_t start = (used + 31) & ~(size_t)15;
  if (start > sizeof heap || size > sizeof heap - start) return NULL;
  used = start + size;
  void *block = heap + start;
  memcpy((uint8_t *)block - sizeof size, &size, sizeof size);
  if (old) {
    size_t old_size;
    memcpy(&old_size, (uint8_t *)old - sizeof old_size, sizeof old_size);
    memcpy(block, old, old_size < size ? old_size : size);
  }
  return block;
}

void free(void *memory) {
  (void)memory;
}

_Noreturn void abort(void) {
  __builtin_trap();
}

void *memcpy(void *restrict to, const void *restrict from, size_t length) {
  for (size_t at = 0; at < length; at++) ((uint8_t *)to)[at] = ((const uint8_t *)from)[at];
  return to;
}

// Compilers call it, too.
void *memset(void *to, int byte, size_t length) {
  for (size_t at = 0; at < length; at++) ((uint8_t *)to)[at] = (uint8_t)byte;
  return to;
}

size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length]) length++;
  return length;
}

// Of an object file with the world. The linker gets the world from the Makefile.
void __component_type_object_force_link_http(void) {}
