/*
 * Frames: the decoder of hostile bytes and the writers. It knows lengths and numbers, nothing of
 * what payloads mean. Every check of a header happens as soon as its 12 bytes are there, so that a
 * bad frame ends the stream before its payload is waited for.
 */
#include "wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
	[0] = "?",
	[WIRE_ATTACH] = "ATTACH",
	[WIRE_HELLO] = "HELLO",
	[WIRE_WELCOME] = "WELCOME",
	[WIRE_READY] = "READY",
	[WIRE_EXEC] = "EXEC",
	[WIRE_STARTED] = "STARTED",
	[WIRE_STDIN] = "STDIN",
	[WIRE_STDOUT] = "STDOUT",
	[WIRE_STDERR] = "STDERR",
	[WIRE_EOF] = "EOF",
	[WIRE_EXIT] = "EXIT",
	[WIRE_SIGNAL] = "SIGNAL",
	[WIRE_CREDIT] = "CREDIT",
	[WIRE_ACK_EXIT] = "ACK_EXIT",
	[WIRE_OPEN] = "OPEN",
	[WIRE_ACCEPT] = "ACCEPT",
	[WIRE_REFUSE] = "REFUSE",
	[WIRE_DATA] = "DATA",
	[WIRE_TAR_IN] = "TAR_IN",
	[WIRE_TAR_OUT] = "TAR_OUT",
	[WIRE_STAT] = "STAT",
	[WIRE_LIST] = "LIST",
	[WIRE_DONE] = "DONE",
	[WIRE_QUESTION] = "QUESTION",
	[WIRE_ANSWER] = "ANSWER",
	[WIRE_FREEZE] = "FREEZE",
	[WIRE_THAW] = "THAW",
	[WIRE_CLOCK] = "CLOCK",
	[WIRE_METRICS] = "METRICS",
	[WIRE_PROBE] = "PROBE",
	[WIRE_PING] = "PING",
	[WIRE_PONG] = "PONG",
	[WIRE_ERROR] = "ERROR",
	[WIRE_BYE] = "BYE",
	[WIRE_READ] = "READ",
	[WIRE_SEARCH] = "SEARCH",
	[WIRE_DIFF] = "DIFF",
};
static_assert(sizeof(type_names) / sizeof(type_names[0]) == WIRE_TYPE__COUNT, "a name per type");

/* What a decoder may hold: one frame that is not whole yet, and one read(2) behind it. */
#define DECODER_MAX (WIRE_HEADER + WIRE_PAYLOAD_MAX + (1u << 20))

static uint32_t get_u32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_u32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

const char *wire_type_name(unsigned type)
{
	return type_names[type < WIRE_TYPE__COUNT ? type : 0];
}

void wire_put_u64(unsigned char *p, uint64_t v)
{
	put_u32(p, (uint32_t)v);
	put_u32(p + 4, (uint32_t)(v >> 32));
}

uint64_t wire_get_u64(const unsigned char *p)
{
	return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

bool wire_u64(const struct wire_frame *f, uint64_t *out)
{
	if (f->length < 8)
		return false;
	*out = wire_get_u64(f->payload);
	return true;
}

void wire_decoder_init(struct wire_decoder *d)
{
	buf_init(&d->in, DECODER_MAX);
	d->used = 0;
}

void wire_decoder_done(struct wire_decoder *d)
{
	buf_done(&d->in);
	d->used = 0;
}

unsigned char *wire_decoder_room(struct wire_decoder *d, size_t want)
{
	char *room;

	buf_shift(&d->in, d->used);
	d->used = 0;
	room = buf_room(&d->in, want);
	/* only a caller that reads on without decoding gets here */
	if (!room)
		abort();
	return (unsigned char *)room;
}

void wire_decoder_grew(struct wire_decoder *d, size_t n)
{
	buf_grew(&d->in, n);
}

static bool protocol_error(struct err *err, const char *what, unsigned long value)
{
	(void)err_set(err, ERR_UPSTREAM, "frame: %s %lu", what, value);
	return err_advise(err, "protocol", NULL);
}

bool wire_decode(struct wire_decoder *d, struct wire_frame *frame, bool *got, struct err *err)
{
	const unsigned char *p = (const unsigned char *)d->in.data + d->used;
	size_t left = d->in.len - d->used;
	uint32_t length;

	*got = false;
	if (left < WIRE_HEADER)
		return true;
	length = get_u32(p);
	if (length > WIRE_PAYLOAD_MAX)
		return protocol_error(err, "payload too long:", length);
	if (p[4] == 0 || p[4] >= WIRE_TYPE__COUNT)
		return protocol_error(err, "no such type:", p[4]);
	if (p[5] || p[6] || p[7])
		return protocol_error(err, "flags are set:", p[5] | p[6] << 8 | p[7] << 16);
	if (left - WIRE_HEADER < length)
		return true;
	frame->type = p[4];
	frame->stream = get_u32(p + 8);
	frame->length = length;
	frame->payload = p + WIRE_HEADER;
	d->used += WIRE_HEADER + length;
	*got = true;
	return true;
}

/* A header for a payload of n bytes, and room for the payload, which the caller fills; NULL where
 * it does not fit. */
static unsigned char *frame_add(struct buf *out, enum wire_type type, uint32_t stream, size_t n)
{
	unsigned char *p;

	if (n > WIRE_PAYLOAD_MAX)
		return NULL;
	p = (unsigned char *)buf_room(out, WIRE_HEADER + n);
	if (!p)
		return NULL;
	put_u32(p, (uint32_t)n);
	put_u32(p + 4, type);
	put_u32(p + 8, stream);
	buf_grew(out, WIRE_HEADER + n);
	return p + WIRE_HEADER;
}

bool wire_add(struct buf *out, enum wire_type type, uint32_t stream, const void *payload, size_t n)
{
	unsigned char *p = frame_add(out, type, stream, n);

	if (!p)
		return false;
	if (n)
		memcpy(p, payload, n);
	return true;
}

bool wire_add_output(struct buf *out, enum wire_type type, uint32_t stream, uint64_t offset,
	const void *data, size_t n)
{
	unsigned char *p;

	/* n first, so that the sum cannot wrap */
	if (n > WIRE_PAYLOAD_MAX)
		return false;
	p = frame_add(out, type, stream, WIRE_OFFSET + n);
	if (!p)
		return false;
	wire_put_u64(p, offset);
	if (n)
		memcpy(p + WIRE_OFFSET, data, n);
	return true;
}

bool wire_add_credit(struct buf *out, uint32_t stream, uint64_t value)
{
	unsigned char payload[8];

	wire_put_u64(payload, value);
	return wire_add(out, WIRE_CREDIT, stream, payload, sizeof(payload));
}
