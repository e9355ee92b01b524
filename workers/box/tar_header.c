/*
 * One header block: its numbers, its checksum, its type. What they mean together is tar.c's.
 */
#include "tar_header.h"

#include <string.h>

/* Octal digits up to NUL or space, or GNU's base-256 with the high bit set. */
bool tar_number(const unsigned char *p, size_t n, uint64_t *out)
{
	uint64_t v = 0;
	size_t i = 0;

	if (p[0] & 0x80) {
		if (p[0] != 0x80)
			return false;
		for (i = 1; i < n; i++) {
			if (v >> 55)
				return false;
			v = v << 8 | p[i];
		}
		*out = v;
		return true;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	for (; i < n; i++)
		if (p[i] != ' ' && p[i] != '\0')
			return false;
	*out = v;
	return true;
}

bool tar_checksum_is_right(const unsigned char *h)
{
	uint64_t said;
	unsigned sum = 8 * ' ';

	for (size_t i = 0; i < TAR_BLOCK; i++)
		if (i < 148 || i >= 156)
			sum += h[i];
	return tar_number(h + 148, 8, &said) && said == sum;
}

bool tar_block_is_zero(const unsigned char *h)
{
	for (size_t i = 0; i < TAR_BLOCK; i++)
		if (h[i])
			return false;
	return true;
}

bool tar_kind_of(char type, bool slash, enum tar_kind *out)
{
	switch (type) {
	case '\0':
	case '0':
	case '7':
		*out = slash ? TAR_DIR : TAR_FILE;
		return true;
	case '1':
		*out = TAR_HARDLINK;
		return true;
	case '2':
		*out = TAR_SYMLINK;
		return true;
	case '5':
		*out = TAR_DIR;
		return true;
	default:
		return false;
	}
}

const char *tar_kind_wrong(char type)
{
	switch (type) {
	case '3':
	case '4':
		return "a device";
	case '6':
		return "a fifo";
	case 'S':
		return "a sparse file";
	default:
		return "a type of entry that is not taken";
	}
}
