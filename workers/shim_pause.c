/*
 * A box that stands still: its processors are stopped until a runner attaches who lets it go on. It
 * goes on as a box that has just been started does, with WELCOME before anything else: time,
 * entropy and names are new, and nobody is told HELLO before it said READY.
 */
#include "shim.h"

#include "log.h"

bool box_pause(struct shim *shim, struct err *err)
{
	struct box *b = &shim->box;

	if (b->state == BOX_PAUSED)
		return true;
	if (b->state != BOX_READY)
		return err_set(err, ERR_CONFLICT, "the box is not ready");
	if (!b->runtime->pause)
		return err_set(err, ERR_INVALID, "%s cannot pause", b->runtime->name);
	for (const struct stream *s = shim->streams; s; s = s->next)
		if (!s->dead)
			return err_set(err, ERR_CONFLICT, "something runs in the box");
	if (!b->runtime->pause(&b->rt, err))
		return err_wrap(err, "pause");
	b->state = BOX_PAUSED;
	b->was_ready = false;
	log_info("box=%s paused", shim->name);
	return true;
}

/* What its machine has is counted again first: it is the shim that was there all the time. */
bool box_resume(struct shim *shim, struct err *err)
{
	struct box *b = &shim->box;
	int64_t nics = 0;

	if (b->state != BOX_PAUSED)
		return err_set(err, ERR_CONFLICT, "the box is not paused");
	if (!b->runtime->count_nics(&b->rt, &nics, err))
		return err_wrap(err, "resume");
	if (nics)
		return err_set(err, ERR_FORBIDDEN, "resume: the machine has a network card");
	if (!b->runtime->resume(&b->rt, err))
		return err_wrap(err, "resume");
	b->silence_ms = 0;
	b->state = BOX_WELCOMED;
	box_welcome(shim);
	log_info("box=%s goes on", shim->name);
	return true;
}
