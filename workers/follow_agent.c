/*
 * Following an agent that is talked to. It says itself when it is through: then it is told to
 * leave, by the end of its stdin, and killed where it does not. A question that it has handed over
 * ends the turn once it has stopped; where it does not stop by itself the box has frozen it in the
 * middle, and whoever answers takes its conversation up anew. One that says nothing and hears
 * nothing of its model for too long has stalled.
 */
#include "follow.h"

#include <string.h>

#include "agents.h"
#include "config.h"
#include "runner.h"
#include "text.h"

#define ASK_STOP_MS 7000 /* to stop by itself after a question; the box freezes it after 5 s */
#define FREEZE_MS 3000	 /* until the box says that the lane is frozen */

static const struct agent_facts *facts_of(const struct follow *f)
{
	return f->log->agent->facts(f->log->reader);
}

static bool is_through(const struct follow *f)
{
	const struct agent_facts *facts = facts_of(f);

	return facts->ended > f->ended_before && !facts->working;
}

int64_t follow_agent_until(const struct follow *f)
{
	if (f->killed)
		return f->deadline;
	if (f->freeze_at)
		return f->frozen ? time_boot_ms() : f->freeze_at + FREEZE_MS;
	if (f->question_id)
		return is_through(f)
			       ? time_boot_ms()
			       : (f->question_at ? f->question_at : time_boot_ms()) + ASK_STOP_MS;
	if (f->told_to_leave)
		return f->leave_at;
	if (is_through(f) && !facts_of(f)->background)
		return time_boot_ms();
	return f->said_at + f->g->r->cfg->stall_ms;
}

static bool question_step(struct follow *f, bool *ended, struct err *err)
{
	static const char lane[] = "{\"lane\":\"drive\"}";
	int64_t now = time_boot_ms();

	if (!f->question_at)
		f->question_at = now;
	if (!f->freeze_at) {
		if (!is_through(f) && now < f->question_at + ASK_STOP_MS)
			return true;
		f->freeze_at = now;
		return guest_send(f->g, WIRE_FREEZE, 0, lane, sizeof(lane) - 1, err);
	}
	if (f->frozen || now >= f->freeze_at + FREEZE_MS) {
		f->end = FOLLOW_QUESTION;
		*ended = true;
	}
	return true;
}

/* Whether its model has answered it lately, although it says nothing: a long answer comes as one
 * event. */
static bool stall_step(struct follow *f, struct err *err)
{
	int64_t stall_ms = f->g->r->cfg->stall_ms, ago = -1;

	if (time_boot_ms() < f->said_at + stall_ms)
		return true;
	if (f->heard && !f->heard(f->arg, &ago, err))
		return false;
	if (ago >= 0 && ago < stall_ms) {
		f->said_at = time_boot_ms() - ago;
		return true;
	}
	f->stalled = f->timed_out = true;
	return follow_kill(f, err);
}

bool follow_agent(struct follow *f, bool *ended, struct err *err)
{
	if (f->killed)
		return true;
	if (f->question_id)
		return question_step(f, ended, err);
	if (f->told_to_leave)
		return time_boot_ms() < f->leave_at || follow_kill(f, err);
	if (!is_through(f) || facts_of(f)->background)
		return stall_step(f, err);
	f->told_to_leave = true;
	f->leave_at = time_boot_ms() + f->g->r->cfg->leave_ms;
	return guest_send(f->g, WIRE_EOF, f->stream, NULL, 0, err);
}
