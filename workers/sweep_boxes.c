/*
 * Rows and processes compared, both ways. A box whose shim is gone is lost; its runner, if there is
 * one, sees that first and knows more, so it is given a moment. A shim without a live row is
 * killed.
 */
#include "sweeps.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "box_pool.h"
#include "cleanup.h"
#include "config.h"
#include "container.h"
#include "db.h"
#include "log.h"
#include "pool.h"
#include "queries.h"
#include "spawn.h"
#include "text.h"
#include "worker.h"

#define RUNNER_FIRST_MS 2000 /* how long an attached runner may take to say how its box ended */
#define YOUNG_MS 10000	     /* a process younger than this may have a row we have not seen */
#define ABSENT_MS 100000     /* shims end after 120 s without a worker */

/* Boxes whose process was found gone, and since when. */
struct box_watch {
	struct box_watch *next;
	int64_t id, since_ms;
	bool seen; /* in this pass */
};

static int64_t gone_since(struct worker *w, int64_t id)
{
	struct box_watch *b;

	for (b = w->boxes; b; b = b->next)
		if (b->id == id) {
			b->seen = true;
			return b->since_ms;
		}
	b = mem_alloc(sizeof(*b));
	*b = (struct box_watch){
		.next = w->boxes, .id = id, .since_ms = time_boot_ms(), .seen = true};
	w->boxes = b;
	return b->since_ms;
}

static void watches_prune(struct worker *w, bool all)
{
	for (struct box_watch **at = &w->boxes; *at;) {
		struct box_watch *b = *at;

		if (b->seen && !all) {
			b->seen = false;
			at = &b->next;
			continue;
		}
		*at = b->next;
		free(b);
	}
}

void boxes_forget(struct worker *w)
{
	watches_prune(w, true);
}

/* Field 22 of /proc/PID/stat: its start in clock ticks; -1: no such process, or a dead one. */
static int64_t pid_start(int64_t pid)
{
	char path[40], line[1024], *p;
	int64_t start = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	if (n <= 0)
		return -1;
	line[n] = '\0';
	p = strrchr(line, ')');
	/* field 3, the state, follows ") " */
	if (!p || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X')
		return -1;
	p += 2;
	for (int field = 3; field < 22; field++) {
		p = strchr(p, ' ');
		if (!p)
			return -1;
		p++;
	}
	p[strcspn(p, " ")] = '\0';
	return text_to_i64(p, 0, INT64_MAX, &start) ? start : -1;
}

/* Its end is a job: what may be left of it is killed there, before its slot becomes free. */
static bool box_lost(struct worker *w, int64_t id, const char *name, struct err *err)
{
	bool no_worker = w->first_sweep && w->absent_ms > ABSENT_MS;
	const char *why = no_worker ? "worker_lost" : "box_lost";
	bool added;

	if (!job_add_destroy(w->db, id, why, NULL, &added, err))
		return err_wrap(err, "box %s", name);
	if (added)
		log_warn("box=%s reason=%s its process is gone", name, why);
	return true;
}

/* One that was claimed in this instant is its runner's to see to. */
static bool pooled_lost(struct worker *w, int64_t id, struct err *err)
{
	bool dropped;

	return box_pool_drop(w->db, w->host, id, "box_lost", w->cfg->destroying_ms, &dropped, err);
}

/* There is a process, and a shim that waits for a word. */
static bool is_up(const char *state)
{
	return !strcmp(state, "ready") || !strcmp(state, "pooled");
}

bool sweep_lost_boxes(struct worker *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(w->db, Q_WORKER_HOST_BOXES, ARGS(db_text(w->host)), &res, err))
		return false;
	for (int i = 0; i < res.rows; i++) {
		int64_t id = result_i64(&res, i, 0), since;
		bool has_job = result_bool(&res, i, 6);

		/* creating: its runner is about to tell us the process, or makes it anew */
		if (result_is_null(&res, i, 4) || !is_up(result_text(&res, i, 2)) ||
			pid_start(result_i64(&res, i, 4)) == result_i64(&res, i, 5))
			continue;
		since = gone_since(w, id);
		if (has_job && time_boot_ms() - since < RUNNER_FIRST_MS)
			continue;
		if (!(!strcmp(result_text(&res, i, 2), "pooled")
				    ? pooled_lost(w, id, err)
				    : box_lost(w, id, result_text(&res, i, 1), err)))
			return false;
	}
	watches_prune(w, false);
	w->first_sweep = false;
	return true;
}

bool sweep_pings(struct worker *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(w->db, Q_WORKER_HOST_BOXES, ARGS(db_text(w->host)), &res, err))
		return false;
	/* one that is being made too, since its process is there: an installer may be silent for
	 * longer than a shim waits for a worker */
	for (int i = 0; i < res.rows; i++)
		if (is_up(result_text(&res, i, 2)) ||
			(!strcmp(result_text(&res, i, 2), "creating") &&
				!result_is_null(&res, i, 4)))
			ask_ping(w, result_text(&res, i, 1));
	return true;
}

/* --- processes without a row --- */

/* The box's name where the command line carries the site's marker; its uid. */
static bool marker_read(const struct worker *w, const char *pid, char box[64], uid_t *uid)
{
	char path[64], args[8192], prefix[64];
	struct stat st;
	ssize_t n;
	size_t len;

	(void)snprintf(prefix, sizeof(prefix), "asb-%s-box-", w->cfg->site);
	len = strlen(prefix);
	(void)snprintf(path, sizeof(path), "/proc/%.20s", pid);
	if (stat(path, &st))
		return false;
	*uid = st.st_uid;
	(void)snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, args, sizeof(args) - 1);
	if (n <= 0)
		return false;
	args[n] = '\0';
	for (const char *a = args; a < args + n; a += strlen(a) + 1) {
		size_t name;

		if (strncmp(a, prefix, len))
			continue;
		/* from "box-" on, letters and digits: -name may go on after a comma */
		name = 4 + strspn(a + len, "abcdefghijklmnopqrstuvwxyz234567");
		(void)snprintf(box, 64, "%.*s", (int)(name < 60 ? name : 60), a + len - 4);
		return true;
	}
	return false;
}

static bool is_young(const char *pid)
{
	int64_t n, start, ticks = sysconf(_SC_CLK_TCK);

	if (!text_to_i64(pid, 1, INT32_MAX, &n))
		return true;
	start = pid_start(n);
	return start < 0 || time_boot_ms() - start * 1000 / (ticks > 0 ? ticks : 100) < YOUNG_MS;
}

static bool orphan_check(struct worker *w, const char *pid, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	char box[64];
	uid_t uid;
	int slot;

	if (!marker_read(w, pid, box, &uid) || is_young(pid))
		return true;
	if (!db_query(w->db, Q_WORKER_BOX_IS_LIVE, ARGS(db_text(box), db_text(w->host)), &res, err))
		return false;
	if (res.rows)
		return true;
	slot = w->cfg->uid_base > 0 ? (int)((int64_t)uid - w->cfg->uid_base - SPAWN_BOX_UID) : 0;
	if (w->cfg->uid_base > 0 && (slot < 0 || slot >= 240))
		slot = container_slot(uid, (uid_t)(w->cfg->uid_base + SPAWN_BOX_UID));
	if (slot < 0 || slot >= 240)
		return true;
	log_warn("box=%s pid=%s has no live row, killing it", box, pid);
	return ask_kill(w, box, slot, err);
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

bool sweep_orphans(struct worker *w, struct err *err)
{
	CLEANUP(dir) DIR *proc = opendir("/proc");
	struct dirent *e;

	if (!proc)
		return err_errno(err, ERR_INTERNAL, "/proc");
	while ((e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && !orphan_check(w, e->d_name, err))
			return false;
	return true;
}
