/*
 * site: what this site can do and what it takes, for a page that offers it.
 */
#include "action.h"
#include "agent_list.h"
#include "cleanup.h"
#include "config.h"
#include "images.h"
#include "json.h"
#include "pool.h"
#include "queries.h"
#include "site.h"
#include "size_class.h"
#include "version.h"

#define MIB (1024 * 1024)

/* Why a run by this agent would be refused or could not begin; NULL: it would not. */
static const char *unready(struct call *c, enum agent_id id, const bool *has_secret)
{
	const struct config *cfg = c->site->cfg;
	const char *image = agent_list[id].image ? agent_list[id].image : cfg->box_image;

	if (agent_list[id].secret != SECRET__COUNT && !has_secret[agent_list[id].secret])
		return "No key for its model is set: enter one on the page Keys.";
	if (!image_is_built(c->pool, cfg, image))
		return pool_printf(c->pool, "The image %s has not been built here.", image);
	return NULL;
}

static bool add_agents(struct call *c, struct json_object *site, struct err *err)
{
	bool has_secret[SECRET__COUNT];
	struct json_object *list;

	for (int id = 0; id < SECRET__COUNT; id++)
		if (!secret_is_set(c->db, c->site->cfg, c->caller.account_id, (enum secret_id)id,
			    &has_secret[id], err))
			return false;
	list = json_new_array();

	for (int id = 0; id < AGENT__COUNT; id++) {
		const char *why = unready(c, (enum agent_id)id, has_secret);
		struct json_object *o = json_new_object();

		json_add_text(o, "name", agent_names[id]);
		json_add_text(o, "title", agent_list[id].title);
		json_add_text(o, "image", agent_list[id].image);
		json_add_bool(o, "ready", !why);
		json_add_text(o, "why", why);
		json_push(list, o);
	}
	json_add(site, "agents", list);
	return true;
}

static struct json_object *images(struct call *c)
{
	const char *const *names = images_list(c->pool, c->site->cfg);
	struct json_object *list = json_new_array();

	for (size_t i = 0; names[i]; i++) {
		struct json_object *o = json_new_object();

		json_add_text(o, "name", names[i]);
		json_add_bool(o, "default", i == 0);
		json_push(list, o);
	}
	return list;
}

static struct json_object *classes(void)
{
	struct json_object *list = json_new_array();

	for (const struct size_class *s = size_classes; s->name; s++) {
		struct json_object *o = json_new_object();

		json_add_text(o, "name", s->name);
		json_add_i64(o, "memory_mb", s->memory_bytes / MIB);
		json_add_i64(o, "cpus", s->cpus);
		json_add_i64(o, "disk_mb", s->disk_bytes / MIB);
		json_push(list, o);
	}
	return list;
}

static struct json_object *defaults(const struct config *cfg)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "agent", agent_names[AGENT_SCRIPT]);
	json_add_text(o, "image", cfg->box_image);
	json_add_i64(o, "memory_mb", cfg->box_memory_mb);
	json_add_i64(o, "cpus", cfg->box_cpus);
	return o;
}

static struct json_object *limits(const struct config *cfg)
{
	struct json_object *o = json_new_object();

	json_add_i64(o, "task_bytes", TASK_MAX);
	json_add_i64(o, "upload_bytes", cfg->upload_max);
	json_add_i64(o, "answer_bytes", ANSWER_MAX);
	return o;
}

/* Who signs receipts; null: nobody has yet. */
static bool add_receipt_key(struct call *c, struct json_object *o, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(c->db, Q_RECEIPT_KEY_NEWEST, NO_ARGS, &res, err))
		return false;
	json_add_text(o, "receipt_key", res.rows ? result_text(&res, 0, 0) : NULL);
	return true;
}

static bool site(struct call *c, const void *input, struct err *err)
{
	const struct config *cfg = c->site->cfg;
	const struct upstreams *upstreams = &c->site->upstreams;
	CLEANUP(json) struct json_object *o = json_new_object();
	struct json_object *hosts = json_new_array();

	(void)input;
	for (size_t i = 0; i < upstreams->n; i++)
		json_push_text(hosts, upstreams->v[i].name);
	json_add_text(o, "site", cfg->site);
	json_add_text(o, "url", cfg->url);
	json_add_text(o, "version", ASB_VERSION);
	json_add(o, "images", images(c));
	json_add(o, "classes", classes());
	json_add(o, "defaults", defaults(cfg));
	json_add(o, "git_hosts", hosts);
	json_add(o, "limits", limits(cfg));
	/* whole seconds, rounded up: a page that waits a little longer for one does no harm */
	json_add_i64(o, "heartbeat_s", (cfg->heartbeat_ms + 999) / 1000);
	return add_agents(c, o, err) && add_receipt_key(c, o, err) && call_add_caller(c, o, err) &&
	       call_answer(c, 200, o);
}

const struct action action_site = {
	.name = "site",
	.summary = "What this site can do and what it takes.",
	.method = "GET",
	.path = "/site.json",
	.needs = NEEDS_CALLER,
	.answers = "200 {\"site\",\"url\",\"version\",\"agents\":[{\"name\",\"title\",\"image\","
		   "\"ready\",\"why\"}],\"images\":[{\"name\",\"default\"}],\"classes\":[{\"name\","
		   "\"memory_mb\",\"cpus\",\"disk_mb\"}],\"defaults\":{\"agent\",\"image\","
		   "\"memory_mb\",\"cpus\"},\"git_hosts\":[name],\"limits\":{\"task_bytes\","
		   "\"upload_bytes\",\"answer_bytes\"},\"heartbeat_s\",\"receipt_key\",\"caller\":{"
		   "\"kind\","
		   "\"name\"}}",
	.run = site,
};
