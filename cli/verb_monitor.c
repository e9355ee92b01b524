/*
 * asb monitor: the fleet, redrawn as it changes where there is a terminal, and once where there is
 * none.
 */
#include <stdio.h>

#include "cleanup.h"
#include "cli.h"
#include "eventstream.h"
#include "fleetview.h"
#include "http.h"
#include "json.h"
#include "screen.h"
#include "text.h"
#include "verbs.h"

#define GIVE_UP_S 120
#define FRAME_MS 200 /* no more than five frames a second */
#define ASK_MS 1000

struct monitoring {
	struct cli *cli; /* asks beside the stream, for a new snapshot */
	int64_t asked_ms;
	struct fleetview view;
	struct screen screen;
	int64_t drawn_ms;
};

static void draw_line(void *arg, const char *line)
{
	screen_line(arg, line);
}

static void draw(struct monitoring *m)
{
	screen_begin(&m->screen);
	m->view.columns = m->screen.width;
	fleetview_lines(&m->view, time_now_ms(), draw_line, &m->screen);
	screen_end(&m->screen);
	m->drawn_ms = time_boot_ms();
	m->view.changed = false;
}

/* A new snapshot where the stream could not go on from the last one; until there is one. */
static void catch_up(struct monitoring *m)
{
	struct json_object *fleet = NULL;
	struct err ignored;

	if (!m->view.stale || time_boot_ms() - m->asked_ms < ASK_MS)
		return;
	if (http_get_json(m->cli->http, "/fleet.json", &fleet, &ignored))
		fleetview_set(&m->view, fleet);
	m->asked_ms = time_boot_ms();
}

static bool on_event(void *arg, const struct eventstream_event *e)
{
	struct monitoring *m = arg;

	fleetview_take(&m->view, e);
	catch_up(m);
	if (m->view.changed && time_boot_ms() - m->drawn_ms >= FRAME_MS)
		draw(m);
	return !screen_interrupted();
}

/* What was left undrawn, and ages that went on. */
static bool on_tick(void *arg)
{
	struct monitoring *m = arg;

	catch_up(m);
	if (m->view.fleet && time_boot_ms() - m->drawn_ms >= FRAME_MS)
		draw(m);
	return !screen_interrupted();
}

static void print_line(void *arg, const char *line)
{
	(void)arg;
	(void)puts(line);
}

static bool print_once(struct cli *cli, struct err *err)
{
	struct fleetview view = {0};
	struct json_object *fleet = NULL;

	if (!http_get_json(cli->http, "/fleet.json", &fleet, err))
		return false;
	fleetview_set(&view, fleet);
	fleetview_lines(&view, time_now_ms(), print_line, NULL);
	fleetview_done(&view);
	return true;
}

static bool print_json(struct cli *cli, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;

	if (!http_get_json(cli->http, "/monitor.json", &reply, err))
		return false;
	cli_print_json(cli, reply);
	return true;
}

static bool monitor(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	struct monitoring m = {.cli = cli};
	struct cli streamer = *cli; /* a connection of its own: it is open while we ask */
	bool ok;

	(void)options;
	(void)nwords;
	(void)words;
	(void)status;
	if (!cli_connect(cli, err))
		return false;
	if (cli->json)
		return print_json(cli, err);
	if (!screen_is_terminal(stdout))
		return print_once(cli, err);
	if (!cli_connect(&streamer, err))
		return false;
	screen_open(&m.screen, stdout);
	http_on_tick(streamer.http, on_tick, &m);
	ok = eventstream_follow(streamer.http, "/events.sse", GIVE_UP_S, on_event, &m, err);
	http_free(streamer.http);
	screen_close(&m.screen);
	fleetview_done(&m.view);
	return ok || screen_interrupted();
}

const struct verb verb_monitor = {
	.name = "monitor",
	.usage = "",
	.summary = "the fleet, redrawn as it changes",
	.about = "Ctrl-C ends it. Into a pipe it prints the fleet once; with --json what\n"
		 "/monitor.json answers.",
	.run = monitor,
};
