/*
 * What an EXEC asks for, read and checked, with the environment that it gets: made of nothing, so
 * that boxd's own never shows.
 */
#include "exec_request.h"

#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "exec.h"
#include "files.h"
#include "pool.h"

void exec_request_env(
	struct pool *pool, struct exec_request *rq, const char *key, const char *value)
{
	size_t n = strlen(key), i = 0;

	while (i < rq->nenv && (strncmp(rq->env[i], key, n) != 0 || rq->env[i][n] != '='))
		i++;
	if (i == EXEC_ENV_MAX)
		return;
	rq->env[i] = pool_printf(pool, "%s=%s", key, value);
	if (i == rq->nenv)
		rq->nenv++;
}

static void env_defaults(struct boxd *b, struct pool *pool, struct exec_request *rq)
{
	static const char *const proxied[] = {
		"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"};
	const char *const fixed[][2] = {
		{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		{"HOME", rq->home},
		{"USER", rq->user},
		{"LOGNAME", rq->user},
		{"SHELL", "/bin/bash"},
		{"LANG", "C.UTF-8"},
		{"TERM", "dumb"},
		{"ASB_ARTIFACTS", "/artifacts"},
		{"ASB_ASK_SOCK", pool_printf(pool, "%s/ask.sock", b->run_dir)},
		{"NO_PROXY", "127.0.0.1,localhost,::1"},
		{"no_proxy", "127.0.0.1,localhost,::1"},
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		exec_request_env(pool, rq, fixed[i][0], fixed[i][1]);
	for (size_t i = 0; b->proxy_port && i < sizeof(proxied) / sizeof(proxied[0]); i++)
		exec_request_env(pool, rq, proxied[i],
			pool_printf(pool, "http://127.0.0.1:%d", b->proxy_port));
}

static bool env_read(
	struct pool *pool, struct exec_request *rq, const struct boxjson *env, struct err *err)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	if (!env || env->type == BOXJSON_NULL)
		return true;
	if (env->type != BOXJSON_OBJECT)
		return err_set(err, ERR_INVALID, "env: an object is wanted");
	for (const struct boxjson *v = env->first; v; v = v->next) {
		if (v->type != BOXJSON_TEXT || !v->key[0] ||
			(v->key[0] >= '0' && v->key[0] <= '9') || v->key[strspn(v->key, allowed)])
			return err_set(err, ERR_INVALID, "env: bad variable %.64s", v->key);
		if (rq->nenv == EXEC_ENV_MAX)
			return err_set(err, ERR_TOO_LARGE, "env: too many variables");
		exec_request_env(pool, rq, v->key, v->text);
	}
	return true;
}

static bool argv_read(struct exec_request *rq, const struct boxjson *argv, struct err *err)
{
	size_t n = 0;

	if (!argv || argv->type != BOXJSON_ARRAY || !argv->first)
		return err_set(err, ERR_INVALID, "argv: an array with a program is wanted");
	for (const struct boxjson *v = argv->first; v; v = v->next) {
		if (v->type != BOXJSON_TEXT)
			return err_set(err, ERR_INVALID, "argv: texts are wanted");
		rq->argv[n++] = v->text;
	}
	rq->argv[n] = NULL;
	return rq->argv[0][0] ? true : err_set(err, ERR_INVALID, "argv: the program is empty");
}

bool exec_request_read(struct boxd *b, struct pool *pool, const struct boxjson *in,
	struct exec_request *rq, struct err *err)
{
	static const char *const known[] = {"argv", "env", "cwd", "user", "lane", "stdin",
		"timeout_ms", "memory_bytes", "pids", "ask", "code", "code_text", "ahead", NULL};
	const char *ask;

	if (!boxjson_only(in, known, err) || !argv_read(rq, boxjson_find(in, "argv"), err) ||
		!boxjson_text(in, "cwd", NULL, &rq->cwd, err) ||
		!boxjson_text(in, "user", "agent", &rq->user, err) ||
		!boxjson_text(in, "lane", "drive", &rq->lane, err) ||
		!boxjson_bool(in, "stdin", false, &rq->wants_stdin, err) ||
		!boxjson_i64(in, "timeout_ms", 0, INT64_C(1) << 40, 0, &rq->timeout_ms, err) ||
		!boxjson_i64(in, "memory_bytes", 0, INT64_MAX, 0, &rq->memory_bytes, err) ||
		!boxjson_i64(in, "pids", 0, 1 << 22, 0, &rq->pids, err) ||
		!boxjson_text(in, "ask", "block", &ask, err) ||
		!boxjson_text(in, "code", NULL, &rq->code, err) ||
		!boxjson_text(in, "code_text", NULL, &rq->code_text, err) ||
		!boxjson_bool(in, "ahead", false, &rq->ahead, err) ||
		(rq->code && !files_path_check(rq->code, err)))
		return false;
	rq->ask_returns = strcmp(ask, "return") == 0;
	if (!rq->ask_returns && strcmp(ask, "block") != 0)
		return err_set(err, ERR_INVALID, "ask: block or return");
	if (!user_find(rq->user, &rq->uid, &rq->home))
		return err_set(err, ERR_INVALID, "user: no user %.32s", rq->user);
	if (access(rq->home, F_OK))
		rq->home = access("/workspace", F_OK) ? "/" : "/workspace";
	if (!rq->cwd)
		rq->cwd = rq->home;
	if (strlen(rq->lane) >= EXEC_LANE_SIZE)
		return err_set(err, ERR_INVALID, "lane: too long");
	env_defaults(b, pool, rq);
	return env_read(pool, rq, boxjson_find(in, "env"), err);
}
