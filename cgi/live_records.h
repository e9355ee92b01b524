#pragma once
/*
 * FastCGI records as asb-live writes them itself, once it has taken a connection over from libfcgi:
 * STDOUT with content and END_REQUEST. One request a connection (nginx is told to keep none).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define RECORD_HEADER_SIZE 8
/* The longest content that is a multiple of 8, as the FastCGI specification advises. */
#define RECORD_CONTENT_MAX 65528

/* Bytes that records_add_stdout makes of n bytes of content. */
size_t records_size(size_t n);
/* Appends n bytes as STDOUT records of request `id`; n = 0 adds nothing (an empty STDOUT record
 * would end the stream). All or nothing: false where it does not fit. */
bool records_add_stdout(struct buf *b, int id, const void *data, size_t n);
/* Appends the empty STDOUT record and END_REQUEST (complete, status 0): an orderly end. */
bool records_add_end(struct buf *b, int id);
