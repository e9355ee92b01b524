/*
 * Masking secrets in a stream of bytes. At each position the longest known value that begins there
 * wins, then a token's shape: a prefix and a run of the characters such tokens are made of. Where
 * the input ends inside either, the rest is held back until more comes.
 */
#include "redact.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "buf.h"
#include "pool.h"

#define KNOWN_MIN 8 /* shorter ones occur in plain text */
#define TAIL_MIN 20 /* from here on four characters give nothing away */
/* No token is longer; a run that is longer is masked as it comes, so that little is ever held. */
#define RUN_MAX 4096

struct shape {
	const char *prefix;
	size_t min;	  /* characters after the prefix */
	bool keep_prefix; /* the prefix is no part of the secret and is shown */
};

static const struct shape shapes[] = {
	{"ghp_", 30, false},
	{"gho_", 30, false},
	{"ghu_", 30, false},
	{"ghs_", 30, false},
	{"ghr_", 30, false},
	{"github_pat_", 30, false},
	{"glpat-", 16, false},
	{"xoxb-", 16, false},
	{"xoxp-", 16, false},
	{"xoxa-", 16, false},
	{"xoxr-", 16, false},
	{"xoxs-", 16, false},
	{"AKIA", 16, false},
	{"ASIA", 16, false},
	{"AIza", 30, false},
	{"npm_", 30, false},
	{"pypi-", 30, false},
	{"sk_live_", 16, false},
	{"rk_live_", 16, false},
	{"sk-", 20, false},
	{"asb_key_", 30, false},
	{"asb_oauth_", 30, false},
	{"asb_refresh_", 30, false},
	{"asb_code_", 30, false},
	{"Bearer ", 16, true},
	{"bearer ", 16, true},
	{"x-access-token:", 8, true},
};
#define NSHAPES (sizeof(shapes) / sizeof(shapes[0]))

struct redactor {
	char **known;
	size_t nknown;
	bool first[256]; /* a secret can begin with this byte */
	struct buf held;
	bool in_run; /* inside a run that was masked already: swallow what belongs to it */
	char last;   /* the byte before, to see where a word begins */
};

static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == '+' || c == '/' || c == '=' || c == '~';
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

struct redactor *redactor_new(void)
{
	struct redactor *r = mem_alloc(sizeof(*r));

	buf_init(&r->held, (size_t)1 << 30);
	for (size_t i = 0; i < NSHAPES; i++)
		r->first[(unsigned char)shapes[i].prefix[0]] = true;
	r->last = '\n';
	return r;
}

void redactor_free(struct redactor *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nknown; i++) {
		sodium_memzero(r->known[i], strlen(r->known[i]));
		free(r->known[i]);
	}
	free(r->known);
	buf_done(&r->held);
	free(r);
}

void cleanup_redactor(struct redactor **r)
{
	redactor_free(*r);
}

void redactor_add(struct redactor *r, const char *value)
{
	if (strlen(value) < KNOWN_MIN)
		return;
	r->known = mem_realloc(r->known, (r->nknown + 1) * sizeof(*r->known));
	r->known[r->nknown++] = mem_strdup(value);
	r->first[(unsigned char)value[0]] = true;
}

/* What begins at s: length of the secret, of what to show before it, or that more is needed. */
struct match {
	size_t shown, len;
	bool more; /* the input ends where a secret may still begin or go on */
	bool run;  /* the secret goes on for as long as token characters come */
};

static void match_known(const struct redactor *r, const char *s, size_t n, struct match *m)
{
	for (size_t i = 0; i < r->nknown; i++) {
		size_t len = strlen(r->known[i]);

		if (memcmp(s, r->known[i], len < n ? len : n))
			continue;
		if (len > n)
			m->more = true;
		else if (len > m->len)
			m->len = len;
	}
}

static void match_shape(const struct shape *shape, const char *s, size_t n, struct match *m)
{
	size_t prefix = strlen(shape->prefix), run;

	if (memcmp(s, shape->prefix, prefix < n ? prefix : n))
		return;
	if (n <= prefix) {
		m->more = true;
		return;
	}
	for (run = 0; prefix + run < n && is_token_char(s[prefix + run]); run++)
		;
	if (prefix + run == n && run < RUN_MAX) {
		m->more = true;
	} else if (run >= shape->min) {
		m->shown = shape->keep_prefix ? prefix : 0;
		m->len = prefix + run - m->shown;
		m->run = prefix + run == n;
		return;
	} else {
		return;
	}
	/* at the very end of the input `more` is taken as no more: say what it would be then */
	if (run >= shape->min) {
		m->shown = shape->keep_prefix ? prefix : 0;
		m->len = prefix + run - m->shown;
	}
}

static void add_mask(struct buf *out, const char *secret, size_t n)
{
	if (n >= TAIL_MIN)
		(void)buf_addf(out, "[redacted %.4s]", secret + n - 4);
	else
		(void)buf_adds(out, "[redacted]");
}

/* Works through s; returns how many bytes are done with. ended: nothing follows. */
static size_t work(struct redactor *r, const char *s, size_t n, bool ended, struct buf *out)
{
	size_t i = 0, plain = 0;

	while (i < n) {
		struct match m = {0};

		if (r->in_run && is_token_char(s[i])) {
			r->last = s[i];
			plain = ++i;
			continue;
		}
		r->in_run = false;
		if (r->first[(unsigned char)s[i]]) {
			match_known(r, s + i, n - i, &m);
			if (!m.len && !m.more && !is_word_char(r->last))
				for (size_t k = 0; k < NSHAPES && !m.len && !m.more; k++)
					match_shape(&shapes[k], s + i, n - i, &m);
		}
		if (m.more && !ended)
			break;
		if (!m.len) {
			r->last = s[i++];
			continue;
		}
		(void)buf_add(out, s + plain, i + m.shown - plain);
		add_mask(out, s + i + m.shown, m.len);
		i += m.shown + m.len;
		plain = i;
		r->in_run = m.run;
		r->last = s[i - 1];
	}
	(void)buf_add(out, s + plain, i - plain);
	return i;
}

void redact(struct redactor *r, const char *in, size_t n, struct buf *out)
{
	size_t done;

	if (!r->held.len) {
		done = work(r, in, n, false, out);
		(void)buf_add(&r->held, in + done, n - done);
		return;
	}
	(void)buf_add(&r->held, in, n);
	done = work(r, r->held.data, r->held.len, false, out);
	buf_shift(&r->held, done);
}

void redact_end(struct redactor *r, struct buf *out)
{
	(void)work(r, r->held.data, r->held.len, true, out);
	buf_reset(&r->held);
	r->in_run = false;
	r->last = '\n';
}

size_t redact_held(const struct redactor *r)
{
	return r->held.len;
}
