/*
 * metrics: what a Prometheus scrapes. From this machine without a token (where the site is on
 * loopback and no proxy is in between), from elsewhere with one.
 */
#include <string.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "queries.h"
#include "session.h"

static const struct {
	const char *name, *type, *help;
} families[] = {
	{"asb_boxes", "gauge", "Boxes by state."},
	{"asb_feed", "counter", "Number of the newest feed row."},
	{"asb_jobs", "gauge", "Jobs in the queue by state."},
	{"asb_log_bytes", "counter", "Bytes that boxes have written."},
	{"asb_runs", "gauge", "Runs by state."},
};

static void print(struct buf *b, const struct result *res)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		(void)buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", families[f].name,
			families[f].help, families[f].name, families[f].type);
		for (int i = 0; i < res->rows; i++) {
			const char *state = result_text(res, i, 1);

			if (strcmp(result_text(res, i, 0), families[f].name) != 0)
				continue;
			if (*state)
				(void)buf_addf(b, "%s{state=\"%s\"} %s\n", families[f].name, state,
					result_text(res, i, 2));
			else
				(void)buf_addf(
					b, "%s %s\n", families[f].name, result_text(res, i, 2));
		}
	}
}

static bool metrics(struct call *c, const void *input, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
	CLEANUP(tx) struct tx tx = {0};
	struct session operator;

	(void)input;
	if (!session_operator(c->db, &operator, err) ||
		!db_begin(c->db, operator.account_id, &tx, err) ||
		!db_query(c->db, Q_WEB_METRICS, NO_ARGS, &res, err))
		return false;
	print(&b, &res);
	response_text(c->rs, 200, "text/plain; version=0.0.4; charset=utf-8", b.data, b.len);
	return true;
}

const struct action action_metrics = {
	.name = "metrics",
	.summary = "Counters for Prometheus.",
	.method = "GET",
	.path = "/metrics",
	.needs = NEEDS_LOCAL,
	.own_tx = true,
	.answers = "200 text in Prometheus' format",
	.run = metrics,
};
