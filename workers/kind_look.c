/*
 * The job kind `look`: a caller wants to see files of a box. In a lane of its own, so that it works
 * beside whatever runs there, and through boxd, so that nothing is started for it.
 */
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "kinds.h"
#include "looks.h"
#include "pool.h"
#include "provision.h"
#include "runner.h"
#include "text.h"

#define LOOK_MS 20000
/* Many files, one after the other. */
#define LOOK_LONG_MS 120000

extern const struct kind kind_look;

static const struct {
	look_fn *fn;
	int64_t ms;
} ops[LOOK_OP__COUNT] = {
	[LOOK_LIST] = {look_op_list, LOOK_MS},
	[LOOK_READ] = {look_op_read, LOOK_MS},
	[LOOK_SEARCH] = {look_op_search, LOOK_MS},
	[LOOK_DIFF] = {look_op_diff, LOOK_LONG_MS},
	[LOOK_GET] = {look_op_get, LOOK_LONG_MS},
};

struct look_end {
	int64_t id;
	const char *result; /* NULL: why */
	struct err why;
};

static bool read_body(struct runner *r, void *arg, struct err *err)
{
	struct looking *l = arg;

	return look_get(r->db, r->pool, l->id, &l->row, err);
}

static bool finish_body(struct runner *r, void *arg, struct err *err)
{
	const struct look_end *end = arg;

	return look_finish(r->db, &r->job.fence, end->id, end->result, &end->why, err) &&
	       job_finish(r->db, &r->job.fence, end->result ? "done" : "failed", err);
}

static bool drop_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return job_finish(r->db, &r->job.fence, "gone", err);
}

/* A box that is still being made is worth waiting for. */
static bool box_wait(struct looking *l, struct err *err)
{
	struct runner *r = l->r;

	while (r->box.state == BOX_CREATING) {
		if (time_boot_ms() > l->deadline)
			return err_set(err, ERR_TIMEOUT, "the box did not become ready in time");
		if (!runner_sleep(r, 100) || r->cancel)
			return err_set(err, ERR_BUSY, "interrupted");
		if (!runner_load_box(r, err))
			return false;
	}
	if (r->box.state == BOX_READY)
		return true;
	(void)err_set(err, ERR_CONFLICT, "the box has ended");
	return err_advise(err, "box_ended", NULL);
}

static bool look_run(struct looking *l, const char **result, struct err *err)
{
	CLEANUP(json) struct json_object *out = json_new_object();

	l->deadline = time_boot_ms() + ops[l->row.op].ms;
	if (!trees_read(l->r, l->row.source, l->row.repos, l->row.upload_id, &l->trees, err) ||
		!box_wait(l, err) || !provision_attach(l->r, &l->g, "look", 0, l->deadline, err) ||
		!ops[l->row.op].fn(l, out, err))
		return false;
	*result = json_text(out, l->r->pool);
	return true;
}

static bool look_job(struct looking *l, struct err *err)
{
	struct look_end end = {.id = l->id};

	if (l->row.ended)
		return runner_try(l->r, drop_body, NULL, err) || l->r->stale;
	if (!json_parse(l->row.request, strlen(l->row.request), &l->request, err))
		return false;
	if (!look_run(l, &end.result, &end.why)) {
		if (l->r->stale || l->r->term || !strcmp(end.why.reason, "stale_epoch"))
			return true;
		if (end.why.code == ERR_INTERNAL) {
			*err = end.why;
			return false;
		}
	}
	return runner_write(l->r, finish_body, &end, err) || l->r->stale;
}

static bool look_kind_run(struct runner *r, struct err *err)
{
	struct looking *l = POOL_NEW(r->pool, struct looking);
	CLEANUP(json) struct json_object *payload = NULL;
	bool ok;

	l->r = r;
	l->g = GUEST_INIT(r);
	if (!json_parse(r->job.payload, strlen(r->job.payload), &payload, err) ||
		(!json_get_i64(payload, "look", &l->id) &&
			!err_set(err, ERR_INTERNAL, "a job without its look")))
		return false;
	/* the row may have been swept meanwhile */
	if (!runner_try(r, read_body, l, err))
		return r->stale || (err->code == ERR_NOT_FOUND &&
					   (runner_try(r, drop_body, NULL, err) || r->stale));
	ok = look_job(l, err);
	guest_detach(&l->g);
	json_free(l->request);
	return ok;
}

const struct kind kind_look = {
	.name = "look",
	.lane = "look",
	.run = look_kind_run,
};
