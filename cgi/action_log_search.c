/*
 * log_search: where a text stands in a log, literally, over the whole of it. What is searched is
 * what a person sees of a line: without colours, control characters and bidirectional overrides. A
 * line counts once.
 */
#include <assert.h>
#include <string.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "log_lines.h"
#include "text.h"

#define QUERY_MAX 200
#define SNIPPET 240
#define BEFORE 100 /* of it stand before the hit */
/* A line of which more than this waits to be searched is searched: its parts, and what a hit could
 * begin with of the one before. */
#define HAY_MAX (4 * LOG_PART)
/* A log so long that it takes more is told as far as it was searched. */
#define SEARCH_MS 4000

struct search_input {
	const char *session, *exec, *q;
	int64_t after, limit;
};

static const struct field fields[] = {
	FIELD(TEXT, struct search_input, session, .max = 64, .help = "The run; or give exec."),
	FIELD(TEXT, struct search_input, exec, .max = 64, .help = "The exec."),
	FIELD(TEXT, struct search_input, q, .required = true, .max = QUERY_MAX,
		.help = "The text; upper and lower case (of ASCII) differ only where it has an "
			"upper-case letter.",
		.fix = "Say what to search for: q=TEXT."),
	FIELD(INT, struct search_input, after, .min = -1, .max = INT64_MAX / 2, .value = -1,
		.help = "List hits in lines after this one."),
	FIELD(INT, struct search_input, limit, .min = 1, .max = 1000, .value = 100,
		.help = "How many hits are listed at the most."),
};

struct search {
	const char *q;
	size_t q_n;
	bool folds; /* case does not matter */
	int64_t after, limit;
	struct buf hay;	   /* the line as one sees it, from some place on */
	struct buf folded; /* the same in lower case */
	size_t searched;   /* bytes of hay that no hit can begin in */
	struct json_object *hits;
	int64_t listed, total, last_listed, last_line;
	bool more; /* a hit was not listed */
	int64_t until_ms;
	bool complete;
};

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static const char *find(struct search *s)
{
	const char *hay = s->hay.data, *at;

	if (s->folds) {
		buf_reset(&s->folded);
		(void)buf_add(&s->folded, s->hay.data, s->hay.len);
		for (size_t i = s->searched; i < s->folded.len; i++)
			if (is_upper(s->folded.data[i]))
				s->folded.data[i] = (char)(s->folded.data[i] + ('a' - 'A'));
		hay = s->folded.data;
	}
	at = memmem(hay + s->searched, s->hay.len - s->searched, s->q, s->q_n);
	return at ? s->hay.data + (at - hay) : NULL;
}

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* What stands around the hit, cut between characters. */
static void list(struct search *s, int64_t n, const char *hit)
{
	const char *start = hit - s->hay.data > BEFORE ? hit - BEFORE : s->hay.data;
	const char *end = s->hay.data + s->hay.len;
	struct json_object *o = json_new_object();

	while (start < hit && continues(*start))
		start++;
	if (end - start > SNIPPET) {
		end = start + SNIPPET;
		while (end > start && continues(*end))
			end--;
	}
	json_add_i64(o, "n", n);
	json_add_text_n(o, "text", start, (size_t)(end - start));
	json_push(s->hits, o);
	s->listed++;
	s->last_listed = n;
}

static void hit(struct search *s, int64_t n, const char *at)
{
	s->total++;
	if (n <= s->after)
		return;
	if (s->listed < s->limit)
		list(s, n, at);
	else
		s->more = true;
}

/* Keeps what a hit that ends in the next part could begin with, and what is shown before it. */
static void keep_tail(struct search *s)
{
	size_t keep = s->q_n - 1 + BEFORE;
	size_t drop = s->hay.len > keep ? s->hay.len - keep : 0;

	assert(s->hay.data || !drop);
	while (drop && drop < s->hay.len && continues(s->hay.data[drop]))
		drop++;
	buf_shift(&s->hay, drop);
	s->searched = s->hay.len > s->q_n - 1 ? s->hay.len - (s->q_n - 1) : 0;
}

static enum log_next take_part(void *arg, const struct log_part *p)
{
	struct search *s = arg;
	const char *at;

	if (p->first) {
		buf_reset(&s->hay);
		s->searched = 0;
	}
	text_add_sane(&s->hay, p->text, p->len);
	s->last_line = p->n;
	at = find(s);
	if (at) {
		hit(s, p->n, at);
		return LOG_SKIP;
	}
	if (p->more)
		keep_tail(s);
	/* the clock is asked now and then only */
	if ((p->more || p->n % 1024 == 0) && time_boot_ms() > s->until_ms) {
		s->complete = false;
		return LOG_STOP;
	}
	return LOG_ON;
}

static bool answer(struct call *c, struct search *s)
{
	CLEANUP(json) struct json_object *o = json_new_object();

	json_add(o, "hits", s->hits);
	s->hits = NULL;
	json_add_i64(o, "total", s->total);
	if (s->more || !s->complete)
		json_add_i64(o, "next", s->more ? s->last_listed : s->last_line);
	else
		json_add(o, "next", NULL);
	json_add_bool(o, "complete", s->complete);
	return call_answer(c, 200, o);
}

static bool search(struct call *c, const void *input, struct err *err)
{
	const struct search_input *in = input;
	struct search s = {.q = in->q,
		.q_n = strlen(in->q),
		.folds = true,
		.after = in->after,
		.limit = in->limit,
		.hay = BUF_INIT(HAY_MAX),
		.folded = BUF_INIT(HAY_MAX),
		.until_ms = time_boot_ms() + SEARCH_MS,
		.complete = true};
	struct log log;
	bool ok;

	for (size_t i = 0; i < s.q_n; i++)
		s.folds = s.folds && !is_upper(in->q[i]);
	if (!log_find(c, in->session, in->exec, &log, err))
		return false;
	s.hits = json_new_array();
	ok = log_read(c->db, &log, 0, false, take_part, &s, err) && answer(c, &s);
	json_free(s.hits);
	buf_done(&s.hay);
	buf_done(&s.folded);
	return ok;
}

const struct action action_log_search = {
	.name = "log_search",
	.summary = "The lines of a log in which a text stands.",
	.method = "GET",
	.path = "/log_search.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct search_input),
	ACTION_FIELDS(fields),
	.answers =
		"200 {\"hits\":[{\"n\",\"text\"}],\"total\",\"next\",\"complete\"}: `text` is 240 "
		"bytes around the first hit of line `n`, `total` counts lines of the whole log, "
		"`next` is what to give as `after` for more, null where there are none; "
		"`complete` is false where 4 s did not do for all of it",
	.run = search,
};
