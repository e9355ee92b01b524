/*
 * What is spoken on stream 0 with a ready box: its one pending question, kept until it is answered
 * so that a runner which comes later finds it in HELLO, and the requests whose answers come back
 * there in the order they were made.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"

/* Each one stops the run until a person or a script has answered: more are not questions. */
#define QUESTIONS_MAX 120
#define QUESTIONS_MS 60000

void question_clear(struct shim *shim)
{
	free(shim->question.id);
	buf_done(&shim->question.json);
	shim->question.id = NULL;
}

static bool is_flood(struct question *q)
{
	int64_t now = time_boot_ms();

	if (now - q->window_ms > QUESTIONS_MS) {
		q->window_ms = now;
		q->count = 0;
	}
	return ++q->count > QUESTIONS_MAX;
}

bool question_take(struct shim *shim, const struct wire_frame *f, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	const struct stream *s = NULL;
	const char *id, *text;
	struct runner *r;
	int64_t stream;

	if (!json_parse((const char *)f->payload, f->length, &o, err))
		return err_wrap(err, "question");
	if (!json_get_text(o, "id", &id) || !json_get_text(o, "text", &text) ||
		!json_get_i64(o, "stream", &stream) || stream < 0 || stream > INT32_MAX)
		return err_set(err, ERR_UPSTREAM, "question: a member is missing");
	if (stream && !(s = stream_find(shim, (uint32_t)stream)))
		return err_set(err, ERR_UPSTREAM, "question: of stream %lld, which is not there",
			(long long)stream);
	if (is_flood(&shim->question))
		return err_set(
			err, ERR_UPSTREAM, "question: more than %d in a minute", QUESTIONS_MAX);
	question_clear(shim);
	shim->question.id = mem_strdup(id);
	buf_init(&shim->question.json, WIRE_PAYLOAD_MAX);
	(void)buf_add(&shim->question.json, f->payload, f->length);
	shim->question.stream = (uint32_t)stream;
	r = runner_of(shim, s ? s->lane : NULL);
	if (r && r->greeted)
		(void)peer_relay(&r->peer, f);
	return true;
}

bool stream0_asked(struct shim *shim, enum wire_type request, struct runner *r)
{
	if (shim->nasked0 == sizeof(shim->asked0) / sizeof(shim->asked0[0]))
		return false;
	shim->asked0[shim->nasked0++] = (struct asked0){request, r};
	return true;
}

void stream0_forget(struct shim *shim, const struct runner *r)
{
	for (size_t i = 0; i < shim->nasked0; i++)
		if (shim->asked0[i].runner == r)
			shim->asked0[i].runner = NULL;
}

static bool answers(const struct wire_frame *f, enum wire_type request)
{
	if (f->type == WIRE_ERROR)
		return true;
	if (request == WIRE_METRICS || request == WIRE_PROBE)
		return f->type == request;
	return f->type == WIRE_DONE;
}

/* The answer to a question has arrived in the box: it is pending no longer. */
static void answered(struct shim *shim, const struct wire_frame *f)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *id;
	struct err err;

	if (f->type == WIRE_DONE && json_parse((const char *)f->payload, f->length, &o, &err) &&
		json_get_text(o, "answered", &id) && shim->question.id &&
		!strcmp(id, shim->question.id))
		question_clear(shim);
}

/* A refusal in the box's words under a code of ours: the codes on stream 0 say what became of the
 * connection (stale_epoch, box_lost), and a box must not be able to say that. */
static void relay_refusal(struct runner *r, const struct wire_frame *f)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(json) struct json_object *in = NULL;
	CLEANUP(json) struct json_object *out = json_new_object();
	const char *message = "the box refused it", *text;
	struct err ignored;

	if (json_parse((const char *)f->payload, f->length, &in, &ignored))
		(void)json_get_text(in, "message", &message);
	json_add_text(out, "code", "refused");
	json_add_text_n(out, "message", message, strnlen(message, 500));
	text = json_text(out, pool);
	(void)peer_send(&r->peer, WIRE_ERROR, 0, text, strlen(text));
}

bool stream0_answer(struct shim *shim, const struct wire_frame *f, struct err *err)
{
	struct asked0 *a = NULL;
	size_t i;

	for (i = 0; i < shim->nasked0 && !a; i++)
		if (answers(f, shim->asked0[i].request))
			a = &shim->asked0[i];
	if (!a)
		/* a CLOCK that failed says so, and is not waited for */
		return f->type == WIRE_ERROR ||
		       err_set(err, ERR_UPSTREAM, "%s that nobody asked for",
			       wire_type_name(f->type));
	answered(shim, f);
	if (a->runner && f->type == WIRE_ERROR)
		relay_refusal(a->runner, f);
	else if (a->runner)
		(void)peer_relay(&a->runner->peer, f);
	shim->nasked0--;
	memmove(a, a + 1, sizeof(*a) * (size_t)(shim->asked0 + shim->nasked0 - a));
	return true;
}
