/*
 * THE table of exit statuses. What an error comes to is its code's (err.c), but that a site which
 * cannot be reached, and one that took too long, are told from one that says "not now".
 */
#include <string.h>

#include "cli.h"
#include "verbs.h"

const struct exit_status exit_statuses[] = {
	{0, "done"},
	{STATUS_RUN_FAILED,
		"a run ended and is not done (failed, stopped or lost); a receipt that was "
		"changed; or something is wrong with asb or the site (`internal`)"},
	{2, "the request is wrong, or more than is taken (`invalid`, `too_large`, `malformed`)"},
	{3, "refused: no or another token, no terminal, a directory that was not enabled "
	    "(`unauthenticated`, `forbidden`)"},
	{4, "there is none of that name, or it is not yours (`not_found`)"},
	{5, "the state is another than the request needs (`conflict`)"},
	{6, "not now: try again later (`limited`, `busy`)"},
	{7, "something that the site depends on failed (`upstream`)"},
	{STATUS_UNREACHABLE, "the site cannot be reached (`busy`, reason `unreachable`)"},
	{STATUS_TIMEOUT, "it took too long (`timeout`)"},
	{STATUS_RUN_WAITING, "a run waits for an answer that nobody was there to give"},
	{STATUS_KEY_UNKNOWN, "a receipt is whole, by a key that nobody vouched for"},
	{0},
};

int exit_status_of(const struct err *err)
{
	if (!strcmp(err->reason, REASON_UNREACHABLE))
		return STATUS_UNREACHABLE;
	return err->code == ERR_TIMEOUT ? STATUS_TIMEOUT : err_info(err->code)->exit_status;
}
