/*
 * The small things that verbs share: the site's address and token, reading a file, printing.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "encode.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "reach.h"
#include "text.h"

bool cli_read_text(struct pool *pool, const char *path, size_t max, char **out, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	CLEANUP(fd) int fd = is_stdin ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(buf) struct buf b = BUF_INIT(max + 1);

	if (fd < 0)
		return err_errno(err, ERR_INVALID, "%.120s", path);
	for (;;) {
		size_t space = max + 1 - b.len < 65536 ? max + 1 - b.len : 65536;
		char *room = space ? buf_room(&b, space) : NULL;
		ssize_t n;

		if (!room)
			return err_set(
				err, ERR_TOO_LARGE, "%.120s is larger than %zu bytes", path, max);
		n = read(fd, room, space);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, ERR_INVALID, "%.120s", path);
		if (n == 0)
			break;
		buf_grew(&b, (size_t)n);
	}
	if (b.len > max)
		return err_set(err, ERR_TOO_LARGE, "%.120s is larger than %zu bytes", path, max);
	if (memchr(b.data, '\0', b.len))
		return err_set(err, ERR_INVALID, "%.120s is not text", path);
	*out = pool_memdup(pool, b.data, b.len);
	return true;
}

bool cli_read_file(struct pool *pool, const char *path, size_t max, char **out, struct err *err)
{
	size_t n;

	if (!cli_read_text(pool, path, max, out, err))
		return false;
	n = strlen(*out);
	if (n && (*out)[n - 1] == '\n')
		(*out)[n - 1] = '\0';
	return true;
}

bool cli_connect(struct cli *cli, struct err *err)
{
	struct reach_places places;
	struct reach at;

	if (!reach_places_get(cli->pool, &places, err) || !reach_find(cli->pool, &places, &at, err))
		return false;
	cli->http = http_new(at.url, at.token);
	return true;
}

bool cli_self(struct pool *pool, const char **path, struct err *err)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return err_errno(err, ERR_INTERNAL, "find our own program");
	*path = pool_memdup(pool, self, (size_t)n);
	return true;
}

bool cli_settings(struct cli *cli, const char *file, const struct config **out, struct err *err)
{
	char name[] = "asb", flag[] = "--config";
	char *argv[] = {name, flag, pool_strdup(cli->pool, file ? file : ""), NULL};

	return config_load(cli->pool, file ? 3 : 1, argv, out, err);
}

bool cli_temporary(int *fd, struct err *err)
{
	const char *tmp = getenv("TMPDIR");

	*fd = open(tmp ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return *fd >= 0 || err_errno(err, ERR_INTERNAL, "a temporary file");
}

bool cli_upload_tar(struct cli *cli, int fd, const char **blob, struct err *err)
{
	CLEANUP(json) struct json_object *reply = NULL;
	off_t size = lseek(fd, 0, SEEK_END);

	if (size < 0)
		return err_errno(err, ERR_INTERNAL, "a temporary file");
	if (!http_post_file(cli->http, cli_query(cli->pool, "/upload", "name", "tree.tar"),
		    "application/x-tar", fd, size, &reply, err))
		return err_wrap(err, "upload");
	*blob = pool_strdup(cli->pool, cli_text(reply, "upload"));
	return true;
}

void cli_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fputs("asb: ", stderr);
	(void)vfprintf(stderr, fmt, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
}

const char *cli_sane(struct pool *pool, const char *s)
{
	CLEANUP(buf) struct buf b = BUF_INIT(4 * strlen(s) + 16);

	text_add_sane(&b, s, strlen(s));
	return pool_memdup(pool, b.data, b.len);
}

const char *cli_line(struct pool *pool, const char *s)
{
	char *line = pool_strdup(pool, cli_sane(pool, s));

	for (char *c = line; *c; c++)
		if (*c == '\n' || *c == '\r' || *c == '\t')
			*c = ' ';
	return line;
}

void cli_print_json(struct cli *cli, struct json_object *o)
{
	(void)puts(json_text(o, cli->pool));
}

const char *cli_text(struct json_object *o, const char *key)
{
	const char *s = "";

	return o && json_get_text(o, key, &s) ? s : "";
}

const char *cli_query(struct pool *pool, const char *path, const char *key, const char *value)
{
	CLEANUP(buf) struct buf b = BUF_INIT(4096);

	(void)buf_addf(&b, "%s?%s=", path, key);
	url_add(&b, value);
	return pool_memdup(pool, b.data, b.len);
}

struct json_object *cli_error_json(const struct err *err)
{
	struct json_object *o = json_new_object(), *context = json_new_object();

	json_add_text(o, "code", err_info(err->code)->name);
	json_add_text(o, "message", err->msg);
	json_add_text(o, "fix", *err->fix ? err->fix : NULL);
	if (*err->reason)
		json_add_text(context, "reason", err->reason);
	json_add(o, "context", context);
	return o;
}

void cli_complain(struct cli *cli, const struct err *err)
{
	CLEANUP(json) struct json_object *root = json_new_object();

	cli_say("%s", err->msg);
	if (*err->fix)
		cli_say("  %s", err->fix);
	json_add(root, "error", cli_error_json(err));
	if (cli->json)
		cli_print_json(cli, root);
}
