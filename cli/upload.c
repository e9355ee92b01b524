/*
 * A working tree on its way to the site.
 */
#include <unistd.h>

#include "cleanup.h"
#include "cli.h"
#include "pool.h"
#include "tree.h"

static void say_left_out(void *arg, const char *path, const char *why)
{
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)arg;
	cli_say("stays here: %s: %s", cli_line(pool, path), why);
}

bool cli_upload_tree(struct cli *cli, const char *dir, const char *const *include, size_t ninclude,
	const char **blob, const char **name, struct err *err)
{
	struct tree_options opt = {.dir = dir,
		.include = include,
		.ninclude = ninclude,
		.max_bytes = TREE_MAX_BYTES,
		.note = say_left_out};
	CLEANUP(fd) int fd = -1;
	struct tree_packed packed;

	if (!cli_temporary(&fd, err) || !tree_pack(cli->pool, &opt, fd, &packed, err))
		return false;
	cli_say("tree %s: %d files, %.1f MB%s", packed.name, packed.files,
		(double)lseek(fd, 0, SEEK_END) / 1e6, packed.is_git ? ", with its history" : "");
	*name = packed.name;
	return cli_upload_tar(cli, fd, blob, err);
}
