/*
 * Following a run: the stream says what happened, the site's RUN says what is so. Rows are printed
 * from the stream; whenever it speaks of a state or a question, the RUN is read again and decides.
 * Rows that the stream had not yet brought when the run ended come from the RUN's own list.
 */
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "cli.h"
#include "eventstream.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "screen.h"
#include "text.h"
#include "tracerow.h"

#define GIVE_UP_S 120
#define RETRY_MS 500

struct following {
	struct cli *cli;
	const struct follow_options *opt;
	const char *session;
	FILE *out;
	struct screen screen; /* its status line */
	int64_t printed_seq;
	struct json_object *run;
	int64_t asked;	    /* id of the last question that was printed */
	const char *answer; /* to it, until the site has it */
	bool failed, over;
	bool stale;	  /* something was said that run does not know yet, or the site not of us */
	int64_t retry_ms; /* when to ask again, while stale */
	int64_t since_ms;
	struct err *err;
};

bool follow_is_over(const char *state)
{
	static const char *const over[] = {"done", "failed", "stopped", "lost"};

	for (size_t i = 0; i < sizeof(over) / sizeof(over[0]); i++)
		if (strcmp(state, over[i]) == 0)
			return true;
	return false;
}

static void print_row(struct following *f, struct json_object *row)
{
	int64_t seq = 0;

	if (json_get_i64(row, "seq", &seq) && seq <= f->printed_seq)
		return;
	f->printed_seq = seq;
	if (f->opt->questions_only)
		return;
	screen_clear_status(&f->screen);
	/* a question is printed by whoever deals with it, at once */
	if (strcmp(cli_text(row, "kind"), "question") != 0)
		tracerow_print(f->out, row);
}

static void print_log(struct following *f, struct json_object *chunk)
{
	CLEANUP(pool) struct pool *pool = pool_new();

	screen_clear_status(&f->screen);
	(void)fputs(cli_sane(pool, cli_text(chunk, "body")), f->out);
	(void)fflush(f->out);
}

static bool refresh(struct following *f)
{
	struct json_object *run = NULL;

	if (!http_get_json(f->cli->http,
		    cli_query(f->cli->pool, "/watch.json", "session", f->session), &run, f->err))
		return false;
	json_free(f->run);
	f->run = run;
	return true;
}

/* The answer, one line of standard input; NULL where there is nobody, or no line left. */
static char *ask_terminal(struct following *f)
{
	CLEANUP(free) char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!isatty(0) && !f->opt->answers_from_stdin)
		return NULL;
	if (isatty(0)) {
		(void)fputs("answer> ", stderr);
		(void)fflush(stderr);
	}
	n = getline(&line, &size, stdin);
	if (n <= 0)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return pool_strdup(f->cli->pool, line);
}

static bool send_answer(struct following *f, int64_t question, const char *answer)
{
	CLEANUP(json) struct json_object *body = json_new_object();
	CLEANUP(json) struct json_object *reply = NULL;

	json_add_text(body, "session", f->session);
	json_add_i64(body, "question", question);
	json_add_text(body, "message", answer);
	if (http_post_json(
		    f->cli->http, "/resume.json", json_text(body, f->cli->pool), &reply, f->err))
		return true;
	if (f->err->code != ERR_CONFLICT)
		return false;
	cli_say("%s", f->err->msg); /* someone else was first; the run goes on with that answer */
	return true;
}

static void print_question(struct following *f, struct json_object *q)
{
	CLEANUP(json) struct json_object *line = json_new_object();

	if (f->cli->json && f->opt->questions_only) {
		json_add(line, "question", json_share(q));
		cli_print_json(f->cli, line);
		(void)fflush(stdout);
		return;
	}
	(void)fprintf(f->out, "question %s\n", cli_sane(f->cli->pool, cli_text(q, "text")));
	(void)fflush(f->out);
}

/* The open question of f->run, if there is one: it is printed once, and answered until the site has
 * the answer. */
static bool deal_with_question(struct following *f)
{
	struct json_object *q = json_get(f->run, "question");
	int64_t id = 0;

	if (strcmp(cli_text(f->run, "state"), "waiting") != 0 || !q ||
		!json_get_i64(q, "id", &id) || (id == f->asked && !f->answer))
		return true;
	if (id != f->asked) {
		f->asked = id;
		screen_clear_status(&f->screen);
		print_question(f, q);
		f->answer = f->opt->answer;
		if (f->answer)
			(void)fprintf(f->out, "answer   %s\n", f->answer);
		else
			f->answer = ask_terminal(f);
	}
	if (!f->answer) {
		f->over = true;
		return true;
	}
	if (!send_answer(f, id, f->answer))
		return false;
	f->answer = NULL;
	return true;
}

/* The RUN as it is now, and its question. A site that is being restarted is not the end; the event
 * that led here may have been the last, so that the tick asks again. */
static void catch_up(struct following *f)
{
	f->failed = !refresh(f) || !deal_with_question(f);
	f->stale = f->failed && (f->err->code == ERR_BUSY || f->err->code == ERR_UPSTREAM ||
					f->err->code == ERR_TIMEOUT);
	if (f->stale) {
		f->failed = false;
		f->retry_ms = time_boot_ms() + RETRY_MS;
	} else if (f->failed || follow_is_over(cli_text(f->run, "state"))) {
		f->over = true;
	}
}

static bool on_event(void *arg, const struct eventstream_event *e)
{
	struct following *f = arg;
	CLEANUP(json) struct json_object *data = NULL;
	struct err ignored;

	if (strcmp(e->type, "trace") == 0 || strcmp(e->type, "log") == 0) {
		if (!json_parse(e->data, e->size, &data, &ignored))
			return true; /* a row that cannot be read is no reason to stop */
		if (*e->type == 't')
			print_row(f, data);
		else if (f->opt->log)
			print_log(f, data);
		return true;
	}
	if (strcmp(e->type, "run") != 0 && strcmp(e->type, "question") != 0 &&
		strcmp(e->type, "hello") != 0 && strcmp(e->type, "gap") != 0)
		return true;
	catch_up(f);
	return !f->over;
}

/* The line below what scrolls: how far it is. Where there is no terminal it is not shown. */
static void show_status(struct following *f)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	int64_t s = (time_boot_ms() - f->since_ms) / 1000, turn = 0;

	if (!f->run || !f->screen.out)
		return;
	(void)json_get_i64(f->run, "turn", &turn);
	screen_status(&f->screen,
		pool_printf(pool, "[%s, turn %lld, watched for %lld:%02lld] %s",
			cli_text(f->run, "state"), (long long)turn, (long long)(s / 60),
			(long long)(s % 60), cli_line(pool, cli_text(f->run, "title"))));
}

static bool on_tick(void *arg)
{
	struct following *f = arg;

	if (f->stale && time_boot_ms() >= f->retry_ms)
		catch_up(f);
	show_status(f);
	return !f->over;
}

static void print_rest(struct following *f)
{
	struct json_object *rows = json_get(f->run, "trace");

	for (size_t i = 0; rows && i < json_count(rows); i++)
		print_row(f, json_at(rows, i));
}

bool follow_run(struct cli *cli, const char *session, const struct follow_options *opt,
	struct json_object **run, struct err *err)
{
	struct following f = {.cli = cli,
		.opt = opt,
		.session = session,
		.err = err,
		.since_ms = time_boot_ms(),
		.out = cli->json ? stderr : stdout};
	const char *path = cli_query(cli->pool, "/watch.sse", "session", session);
	struct cli streamer = *cli; /* a connection of its own: it is open while we ask */
	bool ok;

	if (!cli_connect(&streamer, err))
		return false;
	/* the raw output may end anywhere in a line */
	if (!opt->log && !opt->questions_only)
		f.screen.out = f.out;
	path = pool_printf(cli->pool, "%s&after=0.0.0%s", path, opt->log ? "&log=1" : "");
	http_on_tick(streamer.http, on_tick, &f);
	ok = eventstream_follow(streamer.http, path, GIVE_UP_S, on_event, &f, err) && !f.failed;
	http_free(streamer.http);
	screen_clear_status(&f.screen);
	if (ok && !f.run)
		ok = refresh(&f);
	if (ok)
		print_rest(&f);
	if (!ok) {
		json_free(f.run);
		return err_wrap(err, "watch %.32s", session);
	}
	*run = f.run;
	return true;
}
