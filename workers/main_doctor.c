/*
 * asb-doctor, behind `asb doctor`: a real round trip through each runtime on this host, create,
 * seal proof, run, log, destroy, and which one `auto` is. A present program or device proves
 * nothing; only a box that ran does. It needs no site; as root it also writes down what auto is.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "container.h"
#include "engine.h"
#include "log.h"
#include "pool.h"
#include "size_class.h"
#include "template.h"
#include "text.h"
#include "trial.h"

#define PULL_MS 900000
#define RUN_MS 20000

/* Best first. What a hardware boundary gives comes before an emulated one, a container last. */
static const char *const order[] = {"msb", "qemu", "podman", "docker"};

struct doctor {
	struct pool *pool;
	const struct config *cfg;
	const char *program_dir;
	struct trial trial;
	bool pull;
	const char *best, *best_isolation;
};

static void row(const char *verdict, const char *runtime, const char *text)
{
	(void)printf("%-4s %-8s %s\n", verdict, runtime, text);
	(void)fflush(stdout);
}

static void row_failed(const char *runtime, const struct err *err)
{
	row("FAIL", runtime, err->msg);
	(void)printf("              fix: %s\n",
		err->fix[0] ? err->fix : "see the line above; docs/runtimes.md");
	(void)fflush(stdout);
}

/* What a round trip took, told by the child. */
struct trip {
	const char *runtime, *image;
	int told;
};

static bool trip_run(struct trial_box *b, struct err *err)
{
	static const char *const argv[] = {"/bin/sh", "-c", "echo from the box; exit 7", NULL};
	struct boxlink_exit e = {0};
	bool fine;

	if (!boxlink_exec(&b->link, b->next_stream++, "agent", argv, RUN_MS, &e, err)) {
		cleanup_boxlink_exit(&e);
		return err_wrap(err, "run");
	}
	fine = e.code == 7 && !strcmp(e.out.data, "from the box\n");
	cleanup_boxlink_exit(&e);
	return fine ? true : err_set(err, ERR_UPSTREAM, "run: not the output that was asked for");
}

static bool trip(struct trial *t, void *arg, struct err *err)
{
	const struct trip *trip = arg;
	int64_t start = time_boot_ms(), ready;
	struct trial_box b;
	struct err ignored;
	bool fine;

	fine = trial_box_start(t, trip->runtime, trip->image, &b, err);
	ready = time_boot_ms();
	fine = fine && trial_box_sealed(&b, err) && trip_run(&b, err);
	if (!trial_box_destroy(t, &b, fine ? err : &ignored))
		fine = false;
	if (fine)
		(void)dprintf(trip->told,
			"%s: created in %lld ms, sealed, ran, destroyed in %lld ms%s",
			b.spawned.isolation, (long long)(ready - start),
			(long long)(time_boot_ms() - start),
			size_class_disk(size_classes, trip->runtime) ? ""
								     : "; its disk has no limit");
	return fine;
}

static bool image_import(struct doctor *d, const char *engine, const char *image, struct err *err)
{
	const char *script = pool_printf(d->pool, "%s/box/import", d->cfg->lib_dir);
	const char *const argv[] = {script, engine, image, d->cfg->cache_dir, NULL};
	struct child c = {
		.argv = argv, .env = engine_environment(d->pool), .die_with_parent = true};
	int status = 0;

	if (!child_start(&c, err) || !child_wait(&c, PULL_MS, &status, err))
		return err_wrap(err, "pull");
	return status ? err_set(err, ERR_UPSTREAM, "pull: image %s was not taken by %s", image,
				engine)
		      : true;
}

/* Every image that was built: a sandbox may ask for any. */
static bool images_pull(struct doctor *d, const char *engine, struct err *err)
{
	DIR *dir = opendir(pool_printf(d->pool, "%s/images/by-name", d->cfg->cache_dir));
	struct dirent *e;
	bool done = true;

	while (dir && done && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			done = image_import(d, engine, pool_strdup(d->pool, e->d_name), err);
	if (dir)
		(void)closedir(dir);
	return done;
}

/* Everything that can be said before a box is tried. */
static bool ready(struct doctor *d, const char *runtime, struct err *err)
{
	const struct engine *e = engine_find(runtime);
	const char *version;
	struct image image;

	if (!image_get(d->pool, d->cfg->cache_dir, d->cfg->box_image, &image, err))
		return false;
	if (!e)
		return true;
	if (!engine_probe(d->pool, e, &version, err))
		return false;
	if (geteuid()) {
		(void)err_set(err, ERR_FORBIDDEN, "%s: containers need root here", runtime);
		return err_advise(err, NULL, "run asb doctor as root");
	}
	return (!d->pull || images_pull(d, runtime, err)) &&
	       engine_has_image(d->pool, e, &image, err);
}

static void examine(struct doctor *d, const char *runtime)
{
	struct trip t = {.runtime = runtime, .image = d->cfg->box_image};
	char text[256];
	struct err err = {0};
	int ends[2];
	ssize_t n;

	if (!ready(d, runtime, &err)) {
		row_failed(runtime, &err);
		return;
	}
	if (pipe2(ends, O_CLOEXEC))
		return;
	CLEANUP(fd) int from = ends[0];
	CLEANUP(fd) int to = ends[1];
	t.told = to;
	if (!trial_as_worker(&d->trial, trip, &t, &err)) {
		row_failed(runtime, &err);
		return;
	}
	n = read(from, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	row("ok", runtime, text);
	/* a stand-in is for tests: what it stands for was not tried */
	if (!d->best && !text_has_prefix(text, CONTAINER_STAND_IN)) {
		d->best = runtime;
		d->best_isolation = pool_printf(d->pool, "%.*s", (int)strcspn(text, ":"), text);
	}
}

static void best_tell(struct doctor *d)
{
	const char *path = pool_printf(d->pool, "%s/runtime", d->cfg->state_dir);

	if (!d->best) {
		(void)printf("auto: none: no runtime passed\n");
		return;
	}
	(void)printf("auto: %s (%s), the first that passed in the order msb qemu podman docker\n",
		d->best, d->best_isolation);
	CLEANUP(fd)
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0 && !fchmod(fd, 0644) && dprintf(fd, "%s\n", d->best) > 0)
		(void)printf("      BOX_RUNTIME=auto means it from the programs' next start on\n");
}

static bool doctor(struct pool *pool, int argc, char **argv, struct err *err)
{
	struct doctor d = {.pool = pool};
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	d.pull = argc > 1 && !strcmp(argv[1], "--pull");
	if (n <= 0 || !config_load(pool, argc - d.pull, argv + d.pull, &d.cfg, err))
		return false;
	self[n] = '\0';
	d.program_dir = pool_strdup(pool, dirname(self));
	if (!trial_begin(&d.trial, pool, d.cfg->cache_dir, d.program_dir, err)) {
		trial_end(&d.trial);
		return false;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		examine(&d, order[i]);
	best_tell(&d);
	trial_end(&d.trial);
	return d.best ? true : err_set(err, ERR_UPSTREAM, "no runtime works on this host");
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct err err = {0};

	log_init("doctor", LOG_ERROR);
	(void)umask(022);
	if (doctor(pool, argc, argv, &err))
		return 0;
	(void)fprintf(stderr, "asb: %s\n", err.msg);
	return err_info(err.code)->exit_status;
}
