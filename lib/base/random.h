#pragma once
/* Random bytes from the kernel, and the ids and tokens made of them. */
#include <stddef.h>

void random_bytes(void *out, size_t n);
/* prefix + n characters of [a-z2-7] (5 bits each), NUL-terminated: "run-" + 16. out holds it all.
 */
void random_id(char *out, size_t size, const char *prefix, size_t n);
/* A random (version 4) UUID as text. */
#define UUID_SIZE 37
void random_uuid(char out[UUID_SIZE]);
#define ID_SIZE 24 /* "run-" or "box-", 16 characters, NUL, and room */
