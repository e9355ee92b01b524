/*
 * resume: answers the question a run stopped at. Exactly one answer wins; the others are told it.
 */
#include <string.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "outputs.h"
#include "pool.h"
#include "queries.h"
#include "run.h"

struct resume {
	const char *session, *message;
	int64_t question, wait_ms;
};

static const struct field fields[] = {
	FIELD(TEXT, struct resume, session, .required = true, .max = 64, .help = "The run.",
		.fix = "Name the run: session is what delegate answered."),
	FIELD(TEXT, struct resume, message, .required = true, .max = ANSWER_MAX,
		.help = "The answer.", .fix = "Give the answer in message."),
	FIELD(INT, struct resume, question, .max = INT64_MAX,
		.help = "Which question is answered; 0: the one that is open."),
	FIELD(INT, struct resume, wait_ms, .max = 600000,
		.help = "Wait this long for the run's end or next question; 0: answer at once."),
};

static bool fits_frame(const char *message, struct err *err)
{
	CLEANUP(buf) struct buf quoted = BUF_INIT(ANSWER_MAX);

	json_add_quoted(&quoted, message, strlen(message));
	if (!quoted.failed)
		return true;
	(void)err_set(err, ERR_INVALID, "message: longer than %d bytes as JSON", ANSWER_MAX);
	return err_advise(err, "field", "Answer shorter.");
}

static bool resume(struct call *c, const void *input, struct err *err)
{
	const struct resume *in = input;
	struct run_resumed out = {0};

	c->subject = in->session;
	if (!fits_frame(in->message, err))
		return false;
	if (!run_resume(c->db, c->pool, c->caller.account_id, in->session, in->question,
		    in->message, c->caller.name, c->rq->id, &out, err)) {
		if (err->code == ERR_CONFLICT && out.answer) {
			c->context = json_new_object();
			json_add_text(c->context, "answer", out.answer);
			json_add_text(c->context, "answered_by", out.answered_by);
		}
		return false;
	}
	if (in->wait_ms)
		call_wait(c, "run", in->session, out.n, in->wait_ms);
	return call_json(c, 202, Q_READ_RUN,
		ARGS(db_text(in->session), db_i64(c->caller.account_id)), "run", err);
}

const struct action action_resume = {
	.name = "resume",
	.summary = "Answer the question a run stopped at; it goes on with it.",
	.method = "POST",
	.path = "/resume.json",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct resume),
	ACTION_FIELDS(fields),
	.answers = "202 RUN; 409 with `context.answer` where somebody was first",
	.run = resume,
	.tool = {.title = "Answer a run",
		.description = "Answer the question that a run stopped at. Call it only "
			       "when status or delegate said run:waiting, with the session "
			       "and the answer in message; ask the person first unless the "
			       "task already says the answer. The run goes on and this "
			       "waits for its end or its next question, as delegate does. "
			       "Where somebody else answered first it fails and says what "
			       "was answered.",
		.asks = true,
		.output = &output_run},
};
