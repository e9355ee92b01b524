/*
 * THE table of verbs. The rows stand where the verbs are.
 */
#include "verbs.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"

extern const struct verb verb_admin, verb_apply, verb_ask, verb_build, verb_capabilities,
	verb_completion, verb_config, verb_delegate, verb_diff, verb_doctor, verb_files, verb_help,
	verb_init, verb_login, verb_logout, verb_mcp, verb_migrate, verb_monitor, verb_pool,
	verb_receipt, verb_resume, verb_sandbox, verb_secrets, verb_status, verb_teardown,
	verb_verify, verb_version, verb_watch;

const struct verb *const verbs[] = {
	&verb_delegate,
	&verb_watch,
	&verb_resume,
	&verb_ask,
	&verb_status,
	&verb_monitor,
	&verb_teardown,
	&verb_pool,
	&verb_files,
	&verb_diff,
	&verb_apply,
	&verb_init,
	&verb_sandbox,
	&verb_capabilities,
	&verb_receipt,
	&verb_verify,
	&verb_config,
	&verb_mcp,
	&verb_login,
	&verb_logout,
	&verb_admin,
	&verb_secrets,
	&verb_build,
	&verb_doctor,
	&verb_migrate,
	&verb_completion,
	&verb_version,
	&verb_help,
	NULL,
};

const struct verb *verb_find(const char *name)
{
	for (const struct verb *const *v = verbs; *v; v++)
		if (!strcmp((*v)->name, name))
			return *v;
	return NULL;
}

bool verb_unknown(const char *name, struct err *err)
{
	struct nearest near = {.typed = name};

	for (const struct verb *const *v = verbs; *v; v++)
		nearest_offer(&near, (*v)->name);
	(void)err_set(err, ERR_INVALID, "there is no verb %.40s%s%s", name,
		near.best ? "; did you mean " : "", near.best ? near.best : "");
	return err_advise(err, NULL, "asb help lists them");
}

bool verb_misused(const char *name, const char *why, struct err *err)
{
	const struct verb *v = verb_find(name);
	CLEANUP(buf) struct buf usage = BUF_INIT(4096);

	if (v)
		verb_print_usage(v, &usage);
	(void)err_set(err, ERR_INVALID, "%s: %s", name, why);
	/* where there are several ways, help lists them */
	if (strcspn(usage.data, "\n") + 1 < usage.len)
		(void)snprintf(err->fix, sizeof(err->fix), "asb help %s says how", name);
	else
		(void)snprintf(err->fix, sizeof(err->fix), "usage: %.*s",
			(int)strcspn(usage.data, "\n"), usage.data);
	return false;
}

const struct subverb *verb_sub(const struct verb *v, const char *word, struct err *err)
{
	struct nearest near = {.typed = word};
	char why[200];
	int n;

	for (size_t i = 0; i < v->nsubs; i++)
		if (!strcmp(v->subs[i].name, word))
			return &v->subs[i];
	for (size_t i = 0; i < v->nsubs; i++)
		nearest_offer(&near, v->subs[i].name);
	n = snprintf(why, sizeof(why), "there is no %.40s%s%s; it is one of", word,
		near.best ? "; did you mean " : "", near.best ? near.best : "");
	for (size_t i = 0; i < v->nsubs && n < (int)sizeof(why); i++)
		n += snprintf(
			why + n, sizeof(why) - (size_t)n, "%s %s", i ? "," : "", v->subs[i].name);
	(void)verb_misused(v->name, why, err);
	return NULL;
}
