/*
 * A copy on its way to the site. What is wrong with a lock file is said here, before anything has
 * been sent or made.
 */
#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "package_file.h"
#include "pool.h"
#include "sync.h"

static bool check_lock_file(
	struct cli *cli, const struct sync_place *place, const char *name, struct err *err)
{
	const char *base = strrchr(name, '/');
	enum package_manager manager;
	char *text;

	if (!package_file_manager(base ? base + 1 : name, &manager)) {
		(void)err_set(err, ERR_INVALID, "packages_from: %.80s is no lock file", name);
		return err_advise(err, "invalid_package",
			"it is requirements.txt, package-lock.json, go.sum or pom.xml");
	}
	return (sync_read(cli->pool, place, name, PACKAGE_FILE_MAX, &text, err) &&
		       package_file_check(cli->pool, manager, text, strlen(text), err)) ||
	       err_wrap(err, "packages_from");
}

bool sync_send(struct cli *cli, const char *dir, const char *packages_from,
	struct json_object *body, struct sync_copy *out, struct err *err)
{
	CLEANUP(sync_place) struct sync_place place = SYNC_PLACE_NONE;
	CLEANUP(fd) int fd = -1;
	const char *folder, *blob;

	if (!sync_folder(cli->pool, &folder, err) ||
		!sync_open(cli->pool, folder, dir, &place, err) ||
		(packages_from && !check_lock_file(cli, &place, packages_from, err)) ||
		!cli_temporary(&fd, err) || !sync_pack(cli->pool, &place, fd, out, err))
		return false;
	for (const struct sync_skip *s = out->skips; s; s = s->next)
		cli_say("stays here: %s: %s", cli_line(cli->pool, s->path), s->why);
	cli_say("copy of %s: %d files, %.1f MB", cli_sane(cli->pool, place.path), out->packed.files,
		(double)out->packed.size_bytes / 1e6);
	if (!cli_upload_tar(cli, fd, &blob, err))
		return false;
	json_add_text(body, "upload", blob);
	return true;
}
