/*
 * A program begun before it is asked for. What an interpreter does until it opens the file of its
 * code does not depend on the code, and is most of the time of a short run. So once a run has
 * ended, its program is started again on an empty file, and the kernel holds it where it opens that
 * file (a permission event of fanotify, answered by nobody) until there is code to put into it. It
 * reads a plain file and never knows. It is used once, only by a request that is the same but for
 * the code, and has a group of its own as every exec has; whatever is not as it was is dropped, and
 * the program started as ever. Only where boxd is PID 1 of a machine with cgroups: elsewhere the
 * kernel does not let it.
 *
 * A shell with its script (exec_shell.h) is held before that, since a template holds it: it is told
 * what is otherwise by then.
 */
#include "exec_ahead.h"

#include <sys/epoll.h>
#include <sys/fanotify.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "cleanup.h"
#include "exec.h"
#include "exec_shell.h"
#include "files.h"
#include "pool.h"
#include "proc_stat.h"
#include "text.h"

/* A request but for its code, with texts of its own. */
struct kind {
	struct pool *pool;
	struct exec_request rq;
};

struct ahead {
	struct boxd *boxd;
	struct kind next;  /* the one that is to be begun */
	struct kind begun; /* the one that was */
	/* the program, while there is one: in no list of execs */
	struct exec *exec;
	const char *path; /* the file that it is held at: of its code, or of a shell's beginning */
	int file;	  /* the same, empty and open for writing */
	int events;	  /* fanotify: what it says is answered by closing it */
	struct watch *watch;
	int held;	/* its open file, where it has come to that; -1 */
	bool had_shell; /* in a template: no run of a box has use for another */
};

/* Lets go on whoever is held. */
static void release(struct ahead *a)
{
	watch_remove(a->watch);
	a->watch = NULL;
	fd_drop(&a->held);
	fd_drop(&a->events);
	fd_drop(&a->file);
}

static bool texts_equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* How long a path is without its last name. */
static size_t folder_len(const char *path)
{
	return (size_t)(strrchr(path, '/') - path);
}

static size_t argv_len(const struct exec_request *rq)
{
	size_t n = 0;

	while (rq->argv[n])
		n++;
	return n;
}

/* The same but for the code, the name of its file, and how long it may take. */
static bool is_same_program(const struct exec_request *a, const struct exec_request *b)
{
	size_t n = argv_len(a);

	if (n != argv_len(b) || a->nenv != b->nenv || a->uid != b->uid ||
		folder_len(a->code) != folder_len(b->code) ||
		strncmp(a->code, b->code, folder_len(a->code)) != 0)
		return false;
	for (size_t i = 0; i + 1 < n; i++)
		if (strcmp(a->argv[i], b->argv[i]) != 0)
			return false;
	for (size_t i = 0; i < a->nenv; i++)
		if (strcmp(a->env[i], b->env[i]) != 0)
			return false;
	return true;
}

/* A shell is told its folder; the name of its script is what it goes by. */
static bool is_same_kind(const struct exec_request *a, const struct exec_request *b)
{
	if (!is_same_program(a, b))
		return false;
	return shell_is(a) ? shell_is(b) && !strcmp(a->code, b->code) && !access(b->cwd, X_OK)
			   : texts_equal(a->cwd, b->cwd);
}

static bool is_drive(const struct exec_request *rq)
{
	return !strcmp(rq->lane, "drive");
}

static bool can_be(const struct boxd *b, const struct exec_request *rq)
{
	size_t n = argv_len(rq);

	return b->owns_machine && b->cgroup[0] && rq->code && rq->code_text &&
	       strcmp(rq->argv[n - 1], rq->code) == 0 && !rq->wants_stdin && !rq->memory_bytes &&
	       !rq->pids && (!is_drive(rq) || shell_is(rq));
}

/* `.run-5.py`: `.run-5x.py`, which is no other's. A shell's stays: it is there when it is over. */
static const char *name_after(struct pool *pool, const struct exec_request *rq)
{
	const char *code = rq->code, *name = strrchr(code, '/') + 1, *dot = strrchr(name, '.');
	size_t n = dot && dot > name ? (size_t)(dot - code) : strlen(code);

	if (shell_is(rq))
		return code;
	return pool_printf(pool, "%.*sx%s", (int)n, code, code + n);
}

/* Its code is to lie at `code`, which is not there yet. */
static void kind_keep(struct kind *k, const struct exec_request *rq, const char *code)
{
	struct pool *pool = pool_new(), *old = k->pool;
	struct exec_request *to = &k->rq;
	size_t n = argv_len(rq);

	*to = *rq;
	for (size_t i = 0; i < n; i++)
		to->argv[i] = pool_strdup(pool, rq->argv[i]);
	for (size_t i = 0; i < rq->nenv; i++)
		to->env[i] = pool_strdup(pool, rq->env[i]);
	to->cwd = pool_strdup(pool, rq->cwd);
	to->user = pool_strdup(pool, rq->user);
	to->home = pool_strdup(pool, rq->home);
	to->lane = is_drive(rq) ? "drive" : "exec:ahead";
	to->code = to->argv[n - 1] = pool_strdup(pool, code);
	to->code_text = NULL;
	to->timeout_ms = 0;
	k->pool = pool;
	pool_free(old);
}

/* --- its end --- */

void ahead_drop(struct boxd *b)
{
	struct ahead *a = b->ahead;

	if (!a || !a->exec)
		return;
	exec_code_remove(a->exec);
	files_remove(a->path);
	(void)group_signal(a->exec, SIGKILL);
	release(a);
}

bool ahead_reaped(struct boxd *b, pid_t pid)
{
	struct ahead *a = b->ahead;

	if (!a || !a->exec || a->exec->pid != pid)
		return false;
	a->exec->pid = -1;
	(void)group_signal(a->exec, SIGKILL);
	files_remove(a->path);
	release(a);
	exec_forget(a->exec);
	a->exec = NULL;
	return true;
}

/* --- its beginning --- */

/* Others that open the file go on; our own is held, and nothing is to be watched any more. */
static void event_take(struct ahead *a, const struct fanotify_event_metadata *m)
{
	struct fanotify_response yes = {.fd = m->fd, .response = FAN_ALLOW};

	if (m->fd < 0)
		return;
	if (m->pid == a->exec->pid && a->held < 0) {
		a->held = m->fd;
		(void)fanotify_mark(a->events, FAN_MARK_FLUSH, 0, AT_FDCWD, "/");
		return;
	}
	(void)!write(a->events, &yes, sizeof(yes));
	(void)close(m->fd);
}

static void events_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct ahead *a = arg;
	_Alignas(struct fanotify_event_metadata) char data[4096];
	ssize_t n = read(a->events, data, sizeof(data));

	(void)loop;
	(void)events;
	for (const struct fanotify_event_metadata *m = (const void *)data; FAN_EVENT_OK(m, n);
		m = FAN_EVENT_NEXT(m, n))
		event_take(a, m);
}

static bool file_make(struct ahead *a, struct err *err)
{
	const struct exec_request *rq = &a->begun.rq;

	a->path = shell_is(rq) ? shell_file(a->begun.pool, a->boxd->run_dir) : rq->code;
	if (!files_put(a->boxd, a->path, rq->user, "", err))
		return false;
	a->file = files_open(AT_FDCWD, a->path, O_WRONLY, 0);
	a->events = fanotify_init(
		FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC | O_LARGEFILE);
	if (a->file < 0 || a->events < 0 ||
		fanotify_mark(a->events, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, a->path))
		return err_errno(err, ERR_INTERNAL, "watch %.100s", a->path);
	a->watch = loop_add_fd(a->boxd->loop, a->events, EPOLLIN, events_ready, a);
	return true;
}

void ahead_begin(struct boxd *b)
{
	struct ahead *a = b->ahead;
	struct err ignored;

	/* a look would be held too, by itself */
	if (!a || a->exec || b->looks || (a->had_shell && shell_is(&a->next.rq)))
		return;
	kind_keep(&a->begun, &a->next.rq, a->next.rq.code);
	if (file_make(a, &ignored)) {
		struct exec_request rq = a->begun.rq;

		if (shell_is(&rq)) {
			shell_env(a->begun.pool, &rq, b->run_dir);
			rq.code = NULL; /* it comes with the request that takes it */
			a->had_shell = true;
		}
		a->exec = exec_launch(b, 0, &rq, a->begun.pool, &ignored);
	}
	if (a->exec) {
		/* the steps before the script find a group that is there, as ever */
		if (shell_is(&a->begun.rq))
			group_spares(b);
		return;
	}
	files_remove(a->path);
	release(a);
}

/* --- its use --- */

/* Nobody has killed it, nor just now: a run must not end of what was done before it. */
static bool is_alive(const struct exec *e)
{
	struct proc_stat p;

	return proc_stat_read(e->pid, &p) && p.state != 'Z' && p.state != 'X' &&
	       !(p.flags & PROC_EXITING) && !(p.signals & 1ul << (SIGKILL - 1));
}

/* Also of one that is held: an overlay does not open what was removed meanwhile. */
static bool is_in_place(const struct ahead *a)
{
	struct stat ours, there;

	return !fstat(a->file, &ours) && !lstat(a->path, &there) && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

static bool code_put(struct ahead *a, struct pool *pool, const struct exec_request *rq)
{
	const char *text = shell_is(rq) ? shell_text(pool, rq) : rq->code_text;
	struct err ignored;
	size_t n = text ? strlen(text) : 0;

	if (!text ||
		(shell_is(rq) && !files_put(a->boxd, rq->code, rq->user, rq->code_text, &ignored)))
		return false;
	return !ftruncate(a->file, 0) && pwrite(a->file, text, n, 0) == (ssize_t)n;
}

/* Is it the script that a shell is held for? */
static bool is_its_script(const struct ahead *a, const struct exec_request *rq)
{
	return a && a->exec && rq->argv[1] && !strcmp(rq->argv[1], a->begun.rq.code);
}

struct exec *ahead_take(struct boxd *b, uint32_t stream, const struct exec_request *rq)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct ahead *a = b->ahead;
	struct exec *e;

	if (!can_be(b, rq)) {
		/* an agent that is talked to, or a script that came before its EXEC, is begun as
		 * ever, and nothing waits beside it; the steps that place a tree go on beside it */
		if (is_drive(rq) && (rq->wants_stdin || is_its_script(a, rq)))
			ahead_drop(b);
		return NULL;
	}
	if (!a) {
		a = b->ahead = mem_alloc(sizeof(*a));
		*a = (struct ahead){.boxd = b, .file = -1, .events = -1, .held = -1};
	}
	if (rq->ahead)
		kind_keep(&a->next, rq, name_after(pool, rq));
	if (!a->exec || a->file < 0 || !is_same_kind(&a->begun.rq, rq) || !is_in_place(a) ||
		!is_alive(a->exec) || !code_put(a, pool, rq)) {
		ahead_drop(b);
		return NULL;
	}
	e = a->exec;
	a->exec = NULL;
	if (shell_is(rq)) {
		e->code = mem_strdup(rq->code);
		/* it has opened it; one that has not will */
		if (a->held >= 0)
			files_remove(a->path);
	}
	release(a);
	exec_adopt(e, stream, rq);
	return e;
}
