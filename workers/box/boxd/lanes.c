/*
 * Lanes frozen and thawed.
 */
#include "lanes.h"

#include <string.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec.h"
#include "text.h"

/* How long the caller of a question may go on, so that its tool call can return. */
#define LATE_MS 5000

void lane_drive_freeze(struct boxd *b)
{
	if (b->lane_frozen)
		return;
	b->lane_frozen = true;
	b->frozen_at_ms = time_boot_ms();
	for (struct exec *e = b->execs; e; e = e->next) {
		if (!e->driver)
			continue;
		e->late_ms = 0;
		group_freeze(e, true);
		group_freeze_late(e, true);
		exec_check(e);
	}
}

void lane_drive_thaw(struct boxd *b)
{
	int64_t frozen_ms = b->lane_frozen ? time_boot_ms() - b->frozen_at_ms : 0;

	b->lane_frozen = false;
	for (struct exec *e = b->execs; e; e = e->next) {
		if (!e->driver)
			continue;
		e->late_ms = 0;
		if (e->deadline_ms)
			e->deadline_ms += frozen_ms;
		group_move_back(e);
		group_freeze(e, false);
		group_freeze_late(e, false);
		exec_check(e);
	}
}

void lane_freeze_around(struct exec *e, int pid)
{
	group_move_late(e, pid);
	for (struct exec *x = e->boxd->execs; x; x = x->next) {
		if (!x->driver)
			continue;
		group_freeze(x, true);
		if (x != e)
			group_freeze_late(x, true);
	}
	e->late_ms = time_boot_ms() + LATE_MS;
	exec_check(e);
}

static bool lane_request(
	struct boxd *b, uint32_t stream, const struct boxjson *in, bool freeze, struct err *err)
{
	CLEANUP(buf) struct buf json = BUF_INIT(512);
	const char *lane;
	int found = 0;

	if (!boxjson_text(in, "lane", NULL, &lane, err))
		return false;
	if (!lane)
		return err_set(err, ERR_INVALID, "lane is missing");
	if (strcmp(lane, "drive") == 0) {
		if (freeze)
			lane_drive_freeze(b);
		else
			lane_drive_thaw(b);
		found = 1;
	}
	for (struct exec *e = b->execs; e; e = e->next)
		if (!e->driver && strcmp(e->lane, lane) == 0) {
			group_freeze(e, freeze);
			found = 1;
		}
	if (!found)
		return err_set(err, ERR_NOT_FOUND, "nothing runs in lane %.48s", lane);
	(void)buf_addc(&json, '{');
	boxjson_add_text(&json, freeze ? "frozen" : "thawed", lane);
	(void)buf_addc(&json, '}');
	channel_done(b, stream, &json);
	return true;
}

bool lane_freeze_request(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	return lane_request(b, stream, in, true, err);
}

bool lane_thaw_request(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	return lane_request(b, stream, in, false, err);
}
