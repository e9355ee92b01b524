#pragma once
/* Reads the head of one HTTP request as far as egress must know it: where it wants to go. */
#include <stddef.h>

#define EGRESS_HEAD_MAX (32u * 1024)

enum egress_kind {
	EGRESS_ROUTE,	/* origin form: name is the first path part, "/git" */
	EGRESS_CONNECT, /* CONNECT host:port */
	EGRESS_HTTP,	/* absolute form, http:// */
};
struct egress_target {
	enum egress_kind kind;
	char name[256]; /* route or host, lower case, no brackets around IPv6 */
	int port;
	size_t head_bytes; /* through the empty line */
};
enum egress_head { EGRESS_MORE, EGRESS_BAD, EGRESS_WHOLE };

/* *wrong: a sentence for the program, where bad. */
enum egress_head egress_head_read(
	const char *in, size_t n, struct egress_target *out, const char **wrong);
