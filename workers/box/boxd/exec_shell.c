/*
 * What a shell is told that was begun ahead. Its script lies where it is opened by its name, whole
 * and as it was sent.
 */
#include "exec_shell.h"

#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "pool.h"
#include "random.h"

bool shell_is(const struct exec_request *rq)
{
	return rq->code && !strcmp(rq->argv[0], "/bin/bash") && rq->argv[1] && !rq->argv[2] &&
	       !strcmp(rq->argv[1], rq->code);
}

const char *shell_file(struct pool *pool, const char *run_dir)
{
	return pool_printf(pool, "%s/begin", run_dir);
}

void shell_env(struct pool *pool, struct exec_request *rq, const char *run_dir)
{
	exec_request_env(pool, rq, "BASH_ENV", shell_file(pool, run_dir));
}

/* As one word of the shell. */
static void word_add(struct buf *b, const char *text)
{
	(void)buf_addc(b, '\'');
	for (; *text; text++)
		if (*text == '\'')
			(void)buf_adds(b, "'\\''");
		else
			(void)buf_addc(b, *text);
	(void)buf_addc(b, '\'');
}

const char *shell_text(struct pool *pool, const struct exec_request *rq)
{
	CLEANUP(buf) struct buf b = BUF_INIT(32 * 1024);
	char name[256] = "";
	unsigned seed;

	(void)gethostname(name, sizeof(name) - 1);
	random_bytes(&seed, sizeof(seed));
	(void)buf_adds(&b, "unset BASH_ENV\ncd -- ");
	word_add(&b, rq->cwd);
	/* a shell that has just begun has no OLDPWD, but would export one */
	(void)buf_adds(&b, " || exit\nunset OLDPWD\nexport OLDPWD\nHOSTNAME=");
	word_add(&b, name);
	(void)buf_addf(&b, "\nRANDOM=%u\nSECONDS=0\n: \"$BASH\"\n", seed);
	return b.failed ? NULL : pool_strdup(pool, b.data);
}
