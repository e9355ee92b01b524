/*
 * Sandboxes over sql/queries/sandbox.sql.
 */
#include "sandbox.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "exec.h"
#include "job.h"
#include "json.h"
#include "language.h"
#include "queries.h"
#include "rows.h"
#include "run.h"

/* Where a background run names no limit it has its box's life. */
#define NO_LIMIT_MS (30 * 24 * 3600 * INT64_C(1000))

#define INSTALL_MS 600000

/* boxes.reason, and what it is outside. */
static const struct {
	const char *reason, *word;
	enum err_code code;
	const char *message, *fix;
} errors[] = {
	{"operator", "sandbox_gone", ERR_CONFLICT, "the sandbox was destroyed",
		"Create another with create_sandbox."},
	{"idle", "sandbox_gone", ERR_CONFLICT, "the sandbox was destroyed after nobody used it",
		"Create another with create_sandbox."},
	{"max_duration", "sandbox_gone", ERR_CONFLICT, "the sandbox had reached its lifetime",
		"Create another with create_sandbox."},
	{"host_reboot", "sandbox_gone", ERR_CONFLICT, "the host was restarted",
		"Create another with create_sandbox."},
	{"provision", "provision_failed", ERR_UPSTREAM, "the sandbox could not be made",
		"Read the message; create it again once the cause is mended."},
	{"packages", "provision_failed", ERR_UPSTREAM, "the packages could not be installed",
		"Read the message; check each package's name and version."},
	{"tree", "provision_failed", ERR_UPSTREAM, "the tree could not be put into the sandbox",
		"Read the message, and send the tree again."},
	{"network_leak", "network_leak", ERR_UPSTREAM,
		"the sandbox could reach out and was destroyed",
		"Nothing ran in it. Tell the operator: the host's runtime is not sealed."},
	{"policy", "policy_not_applied", ERR_UPSTREAM,
		"the sandbox did not have the limits it was to have, and was destroyed",
		"Nothing ran in it. Tell the operator: asb doctor says what is wrong."},
};
static const char *const other_fix = "Create another with create_sandbox.";

bool sandbox_error(const char *state, const char *reason, const char *detail, struct err *err)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(errors[i].reason, reason)) {
			(void)err_set(err, errors[i].code, "%s%s%s", errors[i].message,
				detail[0] ? ": " : "", detail);
			return err_advise(err, errors[i].word, errors[i].fix);
		}
	(void)err_set(err, ERR_CONFLICT, "the sandbox has ended (%s)%s%s",
		reason[0] ? reason : state, detail[0] ? ": " : "", detail);
	return err_advise(
		err, strcmp(state, "failed") ? "sandbox_gone" : "sandbox_failed", other_fix);
}

bool sandbox_run_error(const char *reason, struct err *err)
{
	static const char *const gone[] = {"operator", "idle", "max_duration", "host_reboot"};

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		if (!strcmp(gone[i], reason))
			return sandbox_error("gone", reason, "", err);
	if (!strcmp(reason, "agent_error")) {
		(void)err_set(err, ERR_UPSTREAM, "the sandbox could not start the code");
		return err_advise(err, "execution_failed",
			"See that nothing has removed the working folder or the interpreter; "
			"otherwise create another sandbox.");
	}
	(void)err_set(err, ERR_UPSTREAM, "the sandbox was lost while the code ran (%s)", reason);
	return err_advise(err, "sandbox_failed", other_fix);
}

int64_t sandbox_creating_ms(int64_t starting_ms, const char *packages, const char *packages_from)
{
	bool installs = (packages && packages[0] && strcmp(packages, "[]")) ||
			(packages_from && packages_from[0]);

	return installs && starting_ms < INSTALL_MS ? INSTALL_MS : starting_ms;
}

bool sandbox_create(
	struct db *db, const struct sandbox_new *in, struct sandbox_made *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct sandbox_made made = {0};
	int64_t upload_id = 0;

	if (in->upload && !run_find_upload(db, in->account_id, in->upload, &upload_id, err))
		return err_wrap(err, "create sandbox");
	random_id(made.name, sizeof(made.name), "box-", 16);
	if (!db_query(db, Q_SANDBOX_CREATE,
		    ARGS(db_i64(in->account_id), db_text(made.name), db_text(in->runtime),
			    db_text(in->image), db_text(in->size_class), db_i64(in->memory_bytes),
			    db_i64(in->cpus), db_ref(in->disk_bytes), db_i64(in->creating_ms),
			    db_i64(in->max_ms), db_text(in->language), db_text(in->packages),
			    db_ref(upload_id), db_i64(in->idle_ms), db_text(in->request_id),
			    db_text(in->packages_from), db_text(in->image_key)),
		    &res, err))
		return err_wrap(err, "create sandbox");
	made.box_id = result_i64(&res, 0, 0);
	made.job_id = result_i64(&res, 0, 1);
	(void)snprintf(made.name, sizeof(made.name), "%s", result_text(&res, 0, 2));
	*out = made;
	return true;
}

static bool no_sandbox(const char *name, struct err *err)
{
	(void)err_set(err, ERR_NOT_FOUND, "no sandbox %.40s", name);
	return err_advise(err, "no_sandbox", "Use the sandbox_id that create_sandbox answered.");
}

/* The command of a language as JSON; the path of the code comes behind once it is known. */
static const char *argv_of(const char *language, struct buf *b)
{
	const struct language *l = language_find(language);

	(void)buf_addc(b, '[');
	for (size_t i = 0; l && l->argv[i]; i++) {
		if (i)
			(void)buf_addc(b, ',');
		json_add_quoted(b, l->argv[i], strlen(l->argv[i]));
	}
	(void)buf_addc(b, ']');
	return b->data;
}

bool sandbox_run(
	struct db *db, const struct sandbox_run *in, struct exec_made *out, struct err *err)
{
	CLEANUP(buf) struct buf argv = BUF_INIT(1024);
	CLEANUP(result) struct result box = {0};
	struct exec_new exec = {
		.code = in->code,
		.code_size = strlen(in->code),
		.files = in->files,
		.background = in->background,
		.timeout_ms = in->timeout_ms ? in->timeout_ms : NO_LIMIT_MS,
	};
	const char *state;

	if (!db_query(db, Q_SANDBOX_USE,
		    ARGS(db_i64(in->account_id), db_text(in->sandbox), db_bool(in->background)),
		    &box, err))
		return err_wrap(err, "run");
	if (!box.rows)
		return no_sandbox(in->sandbox, err);
	state = result_text(&box, 0, 1);
	if (strcmp(state, "creating") && strcmp(state, "ready"))
		return sandbox_error(state, result_text(&box, 0, 2), result_text(&box, 0, 3), err);
	if (result_i64(&box, 0, 6) >= SANDBOX_BACKGROUND_MAX) {
		(void)err_set(err, ERR_CONFLICT, "%d processes run in its background already",
			SANDBOX_BACKGROUND_MAX);
		return err_advise(err, "too_many_processes",
			"Wait for one to end, or start several from one run.");
	}
	exec.language = result_text(&box, 0, 4);
	exec.argv = argv_of(exec.language, &argv);
	exec.cwd = result_bool(&box, 0, 5) ? "/workspace/tree" : "/workspace";
	return exec_add(
		db, in->account_id, result_i64(&box, 0, 0), 0, &exec, in->request_id, out, err);
}

bool sandbox_hold(
	struct db *db, int64_t account_id, const char *name, int64_t *box_id, struct err *err)
{
	CLEANUP(result) struct result box = {0};
	const char *state;

	if (!db_query(db, Q_SANDBOX_USE, ARGS(db_i64(account_id), db_text(name), db_bool(false)),
		    &box, err))
		return false;
	if (!box.rows)
		return no_sandbox(name, err);
	state = result_text(&box, 0, 1);
	if (strcmp(state, "creating") && strcmp(state, "ready"))
		return sandbox_error(state, result_text(&box, 0, 2), result_text(&box, 0, 3), err);
	*box_id = result_i64(&box, 0, 0);
	return true;
}

bool sandbox_destroy(struct db *db, int64_t account_id, const char *name, const char *request_id,
	int64_t destroying_ms, bool *known, bool *gone, struct err *err)
{
	CLEANUP(result) struct result box = {0};
	const char *state;
	int64_t id;
	bool added;

	if (!db_query(db, Q_SANDBOX_USE, ARGS(db_i64(account_id), db_text(name), db_bool(false)),
		    &box, err))
		return err_wrap(err, "destroy sandbox");
	*known = box.rows > 0;
	*gone = true;
	if (!box.rows)
		return true;
	id = result_i64(&box, 0, 0);
	state = result_text(&box, 0, 1);
	*gone = !strcmp(state, "gone") || !strcmp(state, "failed");
	return *gone ||
	       (db_query(db, Q_SANDBOX_DESTROYING, ARGS(db_i64(id), db_i64(destroying_ms)), NULL,
			err) &&
		       job_add_destroy(db, id, "operator", request_id, &added, err)) ||
	       err_wrap(err, "destroy sandbox");
}
