/*
 * asb-spawn's one loop: connections of the worker's uid, one JSON request and one JSON answer at a
 * time. A spawn waits for the shim's report in the loop, so that a slow start holds nobody else up;
 * a kill is done on the spot, because it is over in milliseconds and the slot is not free before.
 */
#include "spawn_site.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "container.h"
#include "json.h"
#include "killpoint.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "sockpeer.h"
#include "spawn.h"
#include "template.h"
#include "text.h"

#define REQUEST_MAX 4096
#define ANSWER_MAX (128 * 1024)
/* A cold start of QEMU on a busy machine takes a second or two; a clone that takes this hangs. */
#define REPORT_MS 30000
/* A container's end: its engine may take a while on a loaded machine. */
#define KILL_MS 60000
#define SWEEP_MS 60000

struct server {
	struct spawn_site *site;
	struct loop *loop;
	int listener;
};

struct client {
	struct server *server;
	int fd;
	struct watch *watch;
	/* a spawn under way */
	struct pool *pool;
	struct spawn_request rq;
	struct started started;
	bool shim_has_spoken; /* of a container: before its launch was told */
	struct watch *report, *timer;
};

static void answer(struct client *c, struct buf *b)
{
	/* an answer that does not fit the socket at once has no reader who waits for it */
	if (b->failed || send(c->fd, b->data, b->len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_warn("answer not sent errno=%d", errno);
}

static void answer_err(struct client *c, const struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(4096);
	const char *code = err->reason[0] ? err->reason : err_info(err->code)->name;

	(void)buf_addf(&b, "{\"ok\":false,\"code\":\"%s\",\"class\":\"%s\",\"message\":", code,
		err_info(err->code)->name);
	json_add_quoted(&b, err->msg, strlen(err->msg));
	(void)buf_adds(&b, ",\"fix\":");
	json_add_quoted(&b, err->fix, strlen(err->fix));
	(void)buf_addc(&b, '}');
	answer(c, &b);
}

/* Ends what a client has under way; the connection stays. */
static void spawn_done(struct client *c)
{
	watch_remove(c->report);
	watch_remove(c->timer);
	c->report = c->timer = NULL;
	if (c->started.report >= 0)
		(void)close(c->started.report);
	c->started.report = -1;
	pool_free(c->pool);
	c->pool = NULL;
}

static void client_free(struct client *c)
{
	spawn_done(c);
	watch_remove(c->watch);
	(void)close(c->fd);
	free(c);
}

static bool box_kill(struct spawn_site *site, const struct spawn_request *rq, struct err *err)
{
	return scan_kill(site, rq->marker, rq->uid, err) &&
	       scan_kill_rest(site, rq->marker, rq->uid, err) &&
	       dirs_remove(site, rq->box, rq->uid, err);
}

/* The end of a container, which nobody waits for: its record stays until it is proved gone. */
static void container_abandon(struct client *c, const struct engine *e)
{
	struct err ignored;
	int report;

	if (container_kill(c->server->site, &c->rq, e, &report, &ignored))
		(void)close(report);
	else
		log_error("box=%s not cleaned: %s", c->rq.box, ignored.msg);
}

static void spawn_fail(struct client *c, const struct err *err)
{
	const struct engine *e = container_recorded(c->server->site, c->rq.box);
	struct err ignored;

	log_warn("box=%s spawn failed: %s", c->rq.box, err->msg);
	if (e)
		container_abandon(c, e);
	else if (!box_kill(c->server->site, &c->rq, &ignored))
		log_error("box=%s not cleaned: %s", c->rq.box, ignored.msg);
	answer_err(c, err);
	spawn_done(c);
}

/* What the shim says, or the child that starts a container first. */
static bool report_read(struct client *c, struct json_object **out, struct err *err)
{
	const char *message = "no reason given", *fix = NULL, *code = NULL;
	char text[64 * 1024];
	ssize_t n = recv(c->started.report, text, sizeof(text), MSG_DONTWAIT);
	bool ok;

	if (n <= 0)
		return err_set(err, ERR_UPSTREAM, "the shim ended before it had started the box");
	if (!json_parse(text, (size_t)n, out, err) || !json_get_bool(*out, "ok", &ok))
		return err_set(err, ERR_UPSTREAM, "the shim's report cannot be read");
	if (ok)
		return true;
	(void)json_get_text(*out, "message", &message);
	(void)json_get_text(*out, "code", &code);
	(void)json_get_text(*out, "fix", &fix);
	(void)err_set(err, ERR_UPSTREAM, "start box: %s", message);
	return err_advise(err, code, fix);
}

/* Slots whose boxes share a uid say so. */
static bool is_separated(const struct client *c)
{
	const struct engine *e = engine_find(c->rq.runtime->name);

	return c->server->site->cfg->uid_base && (!e || e->namespaced);
}

static bool report_take(
	struct client *c, struct json_object *report, struct buf *out, struct err *err)
{
	(void)buf_addf(out, "{\"ok\":true,\"pid\":%d,\"pid_start\":%lld,\"uid\":%u,\"template\":",
		c->started.pid, (long long)c->started.pid_start, c->started.uid);
	if (c->started.template_key)
		json_add_quoted(out, c->started.template_key, strlen(c->started.template_key));
	else
		(void)buf_adds(out, "null");
	(void)buf_addf(out, ",\"isolation\":\"%s%s\",\"readback\":",
		c->started.isolation ? c->started.isolation : c->rq.runtime->isolation,
		is_separated(c) ? "" : SPAWN_NOT_SEPARATED);
	if (c->started.readback)
		(void)buf_adds(out, c->started.readback);
	else if (!facts_read(c->pool, &c->rq, report, out, err))
		return false;
	(void)buf_addc(out, '}');
	return true;
}

static void report_ready(struct loop *loop, uint32_t events, void *arg)
{
	CLEANUP(buf) struct buf b = BUF_INIT(ANSWER_MAX);
	CLEANUP(json) struct json_object *report = NULL;
	struct client *c = arg;
	struct err err;

	(void)loop;
	(void)events;
	if (!report_read(c, &report, &err)) {
		spawn_fail(c, &err);
		return;
	}
	if (json_get(report, "readback")) {
		/* kept until the shim has spoken */
		if (!container_launched(&c->started, c->pool, report, &err)) {
			spawn_fail(c, &err);
			return;
		}
		if (!c->shim_has_spoken)
			return;
	} else if (c->rq.runtime->is_container && !c->started.readback) {
		c->shim_has_spoken = true; /* who started it is still to speak */
		return;
	}
	if (!report_take(c, report, &b, &err)) {
		spawn_fail(c, &err);
		return;
	}
	log_info("box=%s slot=%d pid=%d spawned", c->rq.box, c->rq.slot, c->started.pid);
	answer(c, &b);
	spawn_done(c);
}

static void report_late(struct loop *loop, uint32_t events, void *arg)
{
	struct err err;

	(void)loop;
	(void)events;
	(void)err_set(&err, ERR_TIMEOUT, "the box did not start within %d ms", REPORT_MS);
	spawn_fail(arg, &err);
}

static bool request_box(
	struct spawn_site *site, struct json_object *o, struct spawn_request *rq, struct err *err)
{
	int64_t slot, base = site->cfg->uid_base;

	if (!json_get_text(o, "box", &rq->box) || !text_is_name(rq->box) ||
		!text_has_prefix(rq->box, "box-") || strlen(rq->box) > 64)
		return err_set(err, ERR_INVALID, "box: not the name of a box");
	if (!json_get_i64(o, "slot", &slot) || slot < 0 || slot >= 256 - SPAWN_BOX_UID)
		return err_set(err, ERR_INVALID, "slot: not a slot");
	rq->slot = (int)slot;
	rq->uid = base && !test_switch("uid0") ? (uid_t)(base + SPAWN_BOX_UID + slot) : geteuid();
	(void)snprintf(rq->marker, sizeof(rq->marker), "asb-%s-%s", site->cfg->site, rq->box);
	return true;
}

static bool request_spawn(struct json_object *o, struct spawn_request *rq, struct err *err)
{
	const char *runtime, *size;

	if (!json_get_text(o, "runtime", &runtime) || !(rq->runtime = runtime_find(runtime)))
		return err_set(err, ERR_INVALID, "runtime: not one that this build has");
	if (!json_get_text(o, "image", &rq->image) || !text_is_name(rq->image))
		return err_set(err, ERR_INVALID, "image: not the name of an image");
	if (!json_get_text(o, "class", &size) || !(rq->size = size_class_find(size)))
		return err_set(err, ERR_INVALID, "class: not a size class");
	return true;
}

static bool verb_spawn(struct client *c, struct json_object *o, struct err *err)
{
	struct server *s = c->server;
	struct spawn_request rq = {0};

	if (!request_box(s->site, o, &rq, err) || !request_spawn(o, &rq, err))
		return false;
	c->pool = pool_new();
	rq.box = pool_strdup(c->pool, rq.box);
	rq.image = pool_strdup(c->pool, rq.image);
	c->rq = rq;
	if (!start_shim(s->site, c->pool, &c->rq, &c->started, err)) {
		spawn_done(c);
		return false;
	}
	c->report = loop_add_fd(s->loop, c->started.report, EPOLLIN, report_ready, c);
	c->timer = loop_add_timer(s->loop, REPORT_MS, 0, report_late, c);
	return true;
}

/* The child that ended a container has said how that went. */
static void kill_ready(struct loop *loop, uint32_t events, void *arg)
{
	CLEANUP(buf) struct buf b = BUF_INIT(ANSWER_MAX);
	struct client *c = arg;
	char text[4096];
	ssize_t n = recv(c->started.report, text, sizeof(text), MSG_DONTWAIT);
	struct err err;

	(void)loop;
	(void)events;
	if (n > 0) {
		(void)buf_add(&b, text, (size_t)n);
		log_info("box=%s slot=%d %s", c->rq.box, c->rq.slot, b.data);
		answer(c, &b);
	} else {
		(void)err_set(&err, ERR_INTERNAL, "the end of the container was not proved");
		answer_err(c, &err);
	}
	spawn_done(c);
}

static void kill_late(struct loop *loop, uint32_t events, void *arg)
{
	struct client *c = arg;
	struct err err;

	(void)loop;
	(void)events;
	(void)err_set(&err, ERR_TIMEOUT, "the container does not end within %d ms", KILL_MS);
	answer_err(c, &err);
	spawn_done(c);
}

static bool kill_container(
	struct client *c, const struct spawn_request *rq, const struct engine *e, struct err *err)
{
	struct server *s = c->server;

	if (!container_kill(s->site, rq, e, &c->started.report, err))
		return false;
	c->pool = pool_new();
	c->rq = *rq;
	c->rq.box = pool_strdup(c->pool, rq->box);
	c->report = loop_add_fd(s->loop, c->started.report, EPOLLIN, kill_ready, c);
	c->timer = loop_add_timer(s->loop, KILL_MS, 0, kill_late, c);
	return true;
}

static bool verb_kill(struct client *c, struct json_object *o, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(64);
	struct spawn_request rq = {0};
	const struct engine *e;

	if (!request_box(c->server->site, o, &rq, err))
		return false;
	e = container_recorded(c->server->site, rq.box);
	if (e)
		return kill_container(c, &rq, e, err);
	if (!box_kill(c->server->site, &rq, err))
		return false;
	log_info("box=%s slot=%d gone", rq.box, rq.slot);
	(void)buf_adds(&b, "{\"ok\":true}");
	answer(c, &b);
	return true;
}

struct listing {
	const struct spawn_site *site;
	struct buf *out;
	bool any;
};

static bool list_add(const struct proc *p, void *arg)
{
	struct listing *l = arg;
	int64_t base = l->site->cfg->uid_base;
	const char *box = p->marker + strlen("asb-") + strlen(l->site->cfg->site) + 1;

	if (!p->is_shim)
		return true;
	(void)buf_adds(l->out, l->any ? ",{\"box\":" : "{\"box\":");
	json_add_quoted(l->out, box, strlen(box));
	/* without separation the uid does not tell the slot */
	(void)buf_addf(l->out, ",\"slot\":%lld,\"pid\":%d,\"pid_start\":%lld}",
		base ? (long long)p->uid - base - SPAWN_BOX_UID : -1LL, p->pid,
		(long long)p->start);
	l->any = true;
	return true;
}

static bool verb_list(struct client *c, struct json_object *o, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(ANSWER_MAX);
	struct listing l = {.site = c->server->site, .out = &b};

	(void)o;
	(void)buf_adds(&b, "{\"ok\":true,\"boxes\":[");
	if (!scan_site(c->server->site, list_add, &l, err))
		return false;
	(void)buf_adds(&b, "]}");
	answer(c, &b);
	return true;
}

static const struct {
	const char *name;
	bool (*run)(struct client *c, struct json_object *o, struct err *err);
} verbs[] = {
	{"spawn", verb_spawn},
	{"kill", verb_kill},
	{"list", verb_list},
};

static bool request_run(struct client *c, const char *text, size_t n, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *verb;

	if (c->pool)
		return err_set(err, ERR_CONFLICT, "one request at a time");
	if (!json_parse(text, n, &o, err))
		return false;
	if (!json_get_text(o, "verb", &verb))
		return err_set(err, ERR_INVALID, "verb: missing");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verb, verbs[i].name))
			return verbs[i].run(c, o, err);
	return err_set(err, ERR_INVALID, "verb: not spawn, kill or list");
}

static void client_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct client *c = arg;
	char text[REQUEST_MAX];
	struct err err;
	ssize_t n = recv(c->fd, text, sizeof(text), MSG_DONTWAIT);

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* who asked has gone: a spawn under way goes on, its row says what to do with the box */
	if (n <= 0) {
		client_free(c);
		return;
	}
	if (!request_run(c, text, (size_t)n, &err)) {
		log_warn("request refused: %s", err.msg);
		answer_err(c, &err);
	}
}

static void client_accept(struct loop *loop, uint32_t events, void *arg)
{
	struct server *s = arg;
	CLEANUP(fd) int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;
	uid_t uid;

	(void)events;
	if (fd < 0)
		return;
	uid = socket_peer(fd);
	if (uid != s->site->worker_uid) {
		log_warn("peer with uid=%u refused", uid);
		return;
	}
	c = mem_alloc(sizeof(*c));
	c->server = s;
	c->fd = STEAL_FD(fd);
	c->started.report = -1;
	c->watch = loop_add_fd(loop, c->fd, EPOLLIN, client_ready, c);
}

static void children_reap(struct loop *loop, uint32_t events, void *arg)
{
	(void)loop;
	(void)events;
	(void)arg;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void stop(struct loop *loop, uint32_t events, void *arg)
{
	(void)events;
	(void)arg;
	loop_stop(loop);
}

static void sweep(struct loop *loop, uint32_t events, void *arg)
{
	(void)loop;
	(void)events;
	containers_sweep(arg);
}

bool spawn_serve(struct spawn_site *site, int listener, struct err *err)
{
	CLEANUP(loop) struct loop *loop = loop_new();
	struct server s = {.site = site, .loop = loop, .listener = listener};

	(void)err;
	(void)loop_add_signal(loop, SIGTERM, stop, NULL);
	(void)loop_add_signal(loop, SIGINT, stop, NULL);
	(void)loop_add_signal(loop, SIGCHLD, children_reap, NULL);
	(void)loop_add_fd(loop, listener, EPOLLIN, client_accept, &s);
	if (site->has_root)
		(void)loop_add_timer(loop, 0, SWEEP_MS, sweep, site);
	loop_run(loop);
	return true;
}
