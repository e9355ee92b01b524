#pragma once
/*
 * asb mcp on pipes, in a process of its own, before a scripted site: a process that answers by a
 * word of the request (say-stream: progress, then the answer; say-never; say-busy: 503; say-cut: a
 * stream without an answer; say-refused: 401; say-html: 413; tools/list: three tools; /upload:
 * blob-x; say-forbidden: 403; say-later: at first a stream that breaks off after a while) and else
 * with the request itself, as text. ASB_URL names it from bridgerig_setup on, before it is there.
 */
#include <sys/types.h>

#include "buf.h"
#include "scriptsite.h"

struct json_object;

struct bridgerig {
	struct scriptsite site;
	int *told; /* shared: how often say-later was answered */
	pid_t bridge;
	int in, out; /* to the bridge, from it */
	struct buf lines;
	int signals;	       /* a pipe: something to read there ends the bridge */
	int64_t roots_wait_ms; /* 0: as asb mcp has it */
};

/* For cmocka; the bridge and the site are not started yet. */
int bridgerig_setup(void **state);
int bridgerig_teardown(void **state);
void bridgerig_site(struct bridgerig *r);
void bridgerig_start(struct bridgerig *r, int64_t patience_ms);
/* Both, for a test that is not about a site which is away. */
void bridgerig_begin(struct bridgerig *r);
/* A line to it. */
void bridgerig_put(struct bridgerig *r, const char *line);
/* The next line from it, to be freed; NULL where none comes. */
char *bridgerig_next(struct bridgerig *r);
/* The same, parsed, and *raw its text: both to be freed. Fails where it is not JSON. */
struct json_object *bridgerig_parsed(struct bridgerig *r, char **raw);
/* Fails unless the next line has this text in it; or this text that. */
void bridgerig_expect(struct bridgerig *r, const char *text);
void bridgerig_has(const char *raw, const char *text);
/* Waits for its end: as it should be, and with nothing more written? */
bool bridgerig_ended(struct bridgerig *r);
