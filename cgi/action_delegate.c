/*
 * delegate: hands a task to an agent in a fresh box. What can be known here is checked here, so
 * that nobody waits for a box to hear that a name was misspelt.
 */
#include <string.h>

#include "action.h"
#include "agent_list.h"
#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "images.h"
#include "json.h"
#include "outputs.h"
#include "pool.h"
#include "queries.h"
#include "repos.h"
#include "run.h"
#include "site.h"
#include "size_class.h"
#include "text.h"

#define TITLE_MAX 80 /* bytes of a title that is made of the task */

struct delegate {
	const char *task, *agent, *upload, *dir, *image, *title;
	struct field_items repos;
	int64_t memory_mb, cpus, wait_ms;
};

static const struct field repo_fields[] = {
	FIELD(TEXT, struct repo_input, repo, .required = true, .max = 300,
		.help = "owner/name, or host/owner/name, of a git host that the operator has set "
			"up.",
		.fix = "Name the repo as owner/name."),
	FIELD(TEXT, struct repo_input, ref, .max = 200, .pattern = FIELD_REF,
		.help = "Branch, tag or commit; the default branch where absent."),
	FIELD(TEXT, struct repo_input, dir, .max = 128, .pattern = FIELD_NAME,
		.help = "Folder under /workspace; the repo's name where absent."),
};

static const struct field fields[] = {
	FIELD(TEXT, struct delegate, task, .required = true, .max = TASK_MAX,
		.help = "What is to be done. For the script agent: a shell script, run in the "
			"workspace.",
		.fix = "Say in the task what is to be done."),
	FIELD(WORD, struct delegate, agent, .words = agent_names, .text = "script",
		.help = "Who does it."),
	FIELD(ITEMS, struct delegate, repos, .max = REPOS_MAX, .fields = repo_fields,
		.nfields = sizeof(repo_fields) / sizeof(repo_fields[0]),
		.item_size = sizeof(struct repo_input),
		.help = "Trees to clone. Without them, and without an upload, those the task names "
			"by host are taken."),
	FIELD(TEXT, struct delegate, upload, .max = 64, .pattern = FIELD_NAME,
		.help = "A working tree that was uploaded, instead of repos."),
	FIELD(TEXT, struct delegate, dir, .max = 128, .pattern = FIELD_NAME,
		.help = "Folder under /workspace for the upload; `tree` where absent."),
	FIELD(TEXT, struct delegate, image, .max = 64, .pattern = FIELD_NAME,
		.help = "What the box boots from; the agent's own or the site's default where "
			"absent."),
	FIELD(INT, struct delegate, memory_mb, .max = 65536,
		.help = "Memory of the box, rounded up to the next size; 0: the site's default."),
	FIELD(INT, struct delegate, cpus, .max = 64,
		.help = "Processors of the box, rounded up to the next size; 0: the site's "
			"default."),
	FIELD(TEXT, struct delegate, title, .max = 200,
		.help = "One line for lists; made of the task where absent."),
	FIELD(INT, struct delegate, wait_ms, .max = 600000,
		.help = "Wait this long for the run's end or its question; 0: answer at once."),
};

/* The first line of the task that says something, cut between characters. */
static const char *make_title(struct pool *pool, const char *task)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1024);
	const char *line = task + strspn(task, " \t\r\n#!");
	size_t n = strcspn(line, "\r\n");

	if (n > TITLE_MAX)
		for (n = TITLE_MAX; n && ((unsigned char)line[n] & 0xc0) == 0x80; n--)
			;
	text_add_sane(&b, line, n);
	return pool_strdup(pool, b.len ? b.data : "task");
}

static bool set_size(
	const struct config *cfg, const struct delegate *in, struct run_new *run, struct err *err)
{
	const struct size_class *size;

	if (!size_class_choose(in->memory_mb ? in->memory_mb : cfg->box_memory_mb,
		    in->cpus ? in->cpus : cfg->box_cpus, &size, err))
		return false;
	run->size_class = size->name;
	run->memory_bytes = size->memory_bytes;
	run->cpus = size->cpus;
	run->disk_bytes = size_class_disk(size, run->runtime);
	return true;
}

/* The trees: an upload, the repos asked for, or those the task names. */
static bool set_trees(
	struct call *c, const struct delegate *in, struct run_new *run, struct err *err)
{
	struct repo_input found[REPOS_MAX];
	const struct repo_input *repos = in->repos.v;
	size_t n = in->repos.n;
	CLEANUP(json) struct json_object *list = NULL;
	struct json_object *o;

	if (in->dir && !in->upload)
		return err_set(err, ERR_INVALID, "dir: is for an upload; a repo has its own dir");
	if (in->upload && n)
		return err_set(err, ERR_INVALID, "upload, repos: give one of them");
	if (in->upload) {
		list = json_new_array();
		o = json_new_object();
		json_add_text(o, "dir", in->dir ? in->dir : "tree");
		json_push(list, o);
		run->upload = in->upload;
		run->repos = json_text(list, c->pool);
		return true;
	}
	if (!n) {
		n = repos_infer(c->pool, &c->site->upstreams, in->task, found);
		repos = found;
	}
	return repos_json(c->pool, &c->site->upstreams, repos, n, &run->repos, err);
}

/* Before there is a box: without its secret the agent could not say a word. */
static bool check_secret(struct call *c, enum agent_id agent, struct err *err)
{
	const struct config *cfg = c->site->cfg;
	enum secret_id id = agent_list[agent].secret;
	const char *url = pool_printf(c->pool, "%s/dashboard/keys", cfg->url);
	bool is_set = true;

	if (id != SECRET__COUNT &&
		!secret_is_set(c->db, cfg, c->caller.account_id, id, &is_set, err))
		return false;
	if (is_set)
		return true;
	c->context = json_new_object();
	json_add_text(c->context, "secret", secret_names[id]);
	json_add_text(c->context, "url", url);
	(void)err_set(err, ERR_CONFLICT, "agent: %s needs a secret that is not set: %s",
		agent_names[agent], secret_kinds[id].title);
	return err_advise(err, "secret_unset",
		pool_printf(c->pool, "A person enters it at %s, signed in; then ask again.", url));
}

static bool delegate(struct call *c, const void *input, struct err *err)
{
	const struct delegate *in = input;
	const struct config *cfg = c->site->cfg;
	enum agent_id agent = AGENT_SCRIPT;
	struct run_made made;
	struct run_new run = {.account_id = c->caller.account_id,
		.task = in->task,
		.title = make_title(c->pool, in->title && *in->title ? in->title : in->task),
		.agent = in->agent,
		.created_by = c->caller.name,
		.request_id = c->rq->id,
		.runtime = cfg->box_runtime,
		.starting_ms = cfg->starting_ms,
		.max_ms = cfg->box_max_s * 1000};

	(void)agent_id_find(in->agent, &agent); /* the field knows the words */
	run.image = in->image ? in->image : agent_list[agent].image;
	if (!run.image)
		run.image = cfg->box_image;
	run.image_key = image_key(c->pool, cfg, run.image);
	if (!check_secret(c, agent, err) || !image_check(c->pool, cfg, run.image, err) ||
		!set_size(cfg, in, &run, err) || !set_trees(c, in, &run, err) ||
		!run_delegate(c->db, &run, &made, err))
		return false;
	c->subject = pool_strdup(c->pool, made.name);
	if (in->wait_ms)
		call_wait(c, "run", made.name, 1, in->wait_ms);
	return call_json(c, 202, Q_READ_RUN, ARGS(db_text(made.name), db_i64(c->caller.account_id)),
		"run", err);
}

const struct action action_delegate = {
	.name = "delegate",
	.summary = "Hand a task to an agent in a fresh box.",
	.method = "POST",
	.path = "/delegate.json",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct delegate),
	ACTION_FIELDS(fields),
	.answers = "202 RUN; with wait_ms 200 RUN at its end or question",
	.run = delegate,
	.tool = {.title = "Delegate a task",
		.description = "Hand a whole task (a fix, a feature, an investigation) to a "
			       "coding agent that works alone in a fresh, isolated box. "
			       "Call it when the work takes minutes and needs its own copy "
			       "of a repository; to run a few lines of code call "
			       "create_sandbox and run instead. Name the repos as "
			       "owner/name, or name them in the task. It answers with a "
			       "session when the run ends, asks something or has been "
			       "waited for long enough: run:waiting means call resume with "
			       "the answer, run:running means call status with the session. "
			       "Never call delegate again for the same task because the "
			       "first answer said that it still runs. The same call again "
			       "while its run goes on, or within five minutes after it is "
			       "done, answers with that run: to run a task once more give "
			       "it another title.",
		.hints = TOOL_OPEN_WORLD,
		.once_ms = 300000,
		.task = true,
		.asks = true,
		.output = &output_run},
};
