/* FNV-1a, 64 bits. */
#ifndef HASH_H
#define HASH_H

#include <stdint.h>

uint64_t hash_text(const char *text);

#endif
