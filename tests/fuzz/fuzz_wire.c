/*
 * The frame decoder under any bytes at any split, and the control JSON under any payload. Besides
 * what the sanitizers see: a frame never points outside what was fed, nothing is lost between
 * frames, and what was decoded encodes to the same bytes.
 */
#include <stddef.h>
#include <stdint.h>

#include "boxjson.h"
#include "buf.h"
#include "pool.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void json_try(const struct wire_frame *f)
{
	struct pool *pool = pool_new();
	const struct boxjson *o;
	struct err err;
	const char *text;

	if (boxjson_parse(pool, f->payload, f->length, &o, &err) &&
		boxjson_text(o, "a", "", &text, &err) && strlen(text) > f->length)
		abort();
	pool_free(pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf again = BUF_INIT(1 << 22);
	struct wire_decoder d;
	struct wire_frame f;
	struct err err;
	size_t step = n ? 1 + data[0] % 64 : 1, fed = 0;
	bool good = true;

	wire_decoder_init(&d);
	while (good && fed < n) {
		size_t part = n - fed < step ? n - fed : step;
		bool got = true;

		memcpy(wire_decoder_room(&d, part), data + fed, part);
		wire_decoder_grew(&d, part);
		fed += part;
		while (good && got) {
			good = wire_decode(&d, &f, &got, &err);
			if (!good || !got)
				continue;
			if (!wire_add(&again, f.type, f.stream, f.payload, f.length))
				abort();
			json_try(&f);
		}
	}
	if (again.len > fed || memcmp(again.data, data, again.len) != 0)
		abort();
	buf_done(&again);
	wire_decoder_done(&d);
	return 0;
}
