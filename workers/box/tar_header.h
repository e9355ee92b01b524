#pragma once
/* Fields of a tar header block, read strictly. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tar.h"

/* Octal digits up to NUL or space, or GNU's base-256 for what is positive; false: damaged. */
bool tar_number(const unsigned char *p, size_t n, uint64_t *out);
bool tar_checksum_is_right(const unsigned char *h);
bool tar_block_is_zero(const unsigned char *h);
/* slash: the name ends in one, which makes an old-style file a folder. False: not taken. */
bool tar_kind_of(char type, bool slash, enum tar_kind *out);
/* Why a type is not taken. */
const char *tar_kind_wrong(char type);
