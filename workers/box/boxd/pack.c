/*
 * TAR_OUT's child: packs a folder or a file, as the user it has become. Files, folders and the
 * text of symbolic links go in; everything else, and what cannot be read, is counted as skipped.
 * The folder may change meanwhile: each file has exactly the bytes its header promised.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxjson.h"
#include "buf.h"
#include "cleanup.h"
#include "files.h"
#include "tar.h"
#include "worker.h"

#define DEPTH_MAX 64
#define ENTRIES_MAX 200000
#define CHUNK (64u * 1024)

struct level {
	DIR *dir;
	size_t name_len; /* of the path without this level's child */
};

struct pack {
	int to;
	int64_t left; /* of max_bytes */
	struct buf out;
	struct buf name; /* relative path of the entry */
	struct level levels[DEPTH_MAX];
	int depth;
	uint64_t entries, bytes, skipped;
};

static bool flush(struct pack *p, struct err *err)
{
	size_t at = 0;

	p->left -= (int64_t)p->out.len;
	if (p->left < 0)
		return err_set(err, ERR_TOO_LARGE, "more than the bytes allowed");
	while (at < p->out.len) {
		ssize_t n = write(p->to, p->out.data + at, p->out.len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, ERR_INTERNAL, "write");
		at += (size_t)n;
	}
	buf_reset(&p->out);
	return true;
}

/* Exactly size bytes: a file that shrank is filled with zeros, one that grew is cut. */
static bool content_add(struct pack *p, int fd, uint64_t size, struct err *err)
{
	uint64_t left = size;
	bool ended = false;

	while (left) {
		size_t want = left < CHUNK ? (size_t)left : CHUNK;
		char *to = buf_room(&p->out, want);
		ssize_t n = 0;

		if (!ended) {
			n = read(fd, to, want);
			if (n < 0 && errno == EINTR)
				continue;
		}
		if (n <= 0) {
			ended = true;
			n = (ssize_t)want;
			memset(to, 0, want);
		}
		buf_grew(&p->out, (size_t)n);
		left -= (uint64_t)n;
		if (!flush(p, err))
			return false;
	}
	p->bytes += size;
	return tar_add_padding(&p->out, size) && flush(p, err);
}

static bool file_add(struct pack *p, int at, const char *last, struct tar_entry *e, struct err *err)
{
	CLEANUP(fd) int fd = -1;
	struct stat st;

	fd = openat(at, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		p->skipped++;
		return true;
	}
	e->size = (uint64_t)st.st_size;
	if (st.st_size > p->left)
		return err_set(err, ERR_TOO_LARGE, "%.120s: more than the bytes allowed", e->name);
	if (!tar_add_header(&p->out, e)) {
		p->skipped++;
		return true;
	}
	return flush(p, err) && content_add(p, fd, e->size, err);
}

/* Goes down into a folder. */
static bool folder_enter(struct pack *p, int at, const char *last, struct err *err)
{
	int fd;

	(void)err;
	if (p->depth == DEPTH_MAX) {
		p->skipped++;
		return true;
	}
	fd = openat(at, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		p->skipped++;
		return true;
	}
	p->levels[p->depth].dir = fdopendir(fd);
	p->levels[p->depth].name_len = p->name.len;
	p->depth++;
	return true;
}

/* `last` in folder `at`; its path in the archive is p->name. */
static bool entry_add(struct pack *p, int at, const char *last, struct err *err)
{
	char link[TAR_NAME_MAX + 1];
	struct tar_entry e = {.name = p->name.data};
	struct stat st;
	ssize_t n;

	if (fstatat(at, last, &st, AT_SYMLINK_NOFOLLOW) || p->name.len > TAR_NAME_MAX) {
		p->skipped++;
		return true;
	}
	if (++p->entries > ENTRIES_MAX)
		return err_set(err, ERR_TOO_LARGE, "more than %d entries", ENTRIES_MAX);
	e.mode = st.st_mode & 0777;
	e.mtime_s = st.st_mtim.tv_sec;
	if (S_ISREG(st.st_mode))
		return file_add(p, at, last, &e, err);
	if (S_ISDIR(st.st_mode)) {
		e.kind = TAR_DIR;
		return tar_add_header(&p->out, &e) && flush(p, err) &&
		       folder_enter(p, at, last, err);
	}
	n = S_ISLNK(st.st_mode) ? readlinkat(at, last, link, sizeof(link) - 1) : -1;
	if (n <= 0) {
		p->skipped++;
		return true;
	}
	link[n] = '\0';
	e.kind = TAR_SYMLINK;
	e.link = link;
	return tar_add_header(&p->out, &e) && flush(p, err);
}

static bool tree_walk(struct pack *p, struct err *err)
{
	while (p->depth) {
		struct level *l = &p->levels[p->depth - 1];
		struct dirent *d = l->dir ? readdir(l->dir) : NULL;

		p->name.len = l->name_len;
		p->name.data[p->name.len] = '\0';
		if (!d) {
			if (l->dir)
				(void)closedir(l->dir);
			p->depth--;
			continue;
		}
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (p->name.len)
			(void)buf_addc(&p->name, '/');
		(void)buf_adds(&p->name, d->d_name);
		if (!entry_add(p, dirfd(l->dir), d->d_name, err))
			return false;
	}
	return true;
}

/* A folder's content has names relative to it; a file its own last name. */
static bool path_pack(struct pack *p, const char *path, struct err *err)
{
	CLEANUP(fd) int fd = files_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
	CLEANUP(fd) int parent = -1;
	const char *slash = strrchr(path, '/');
	char folder[FILES_PATH_MAX + 1];
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return files_fail(path, err);
	/* an empty name must have memory, since it is cut to lengths later */
	(void)buf_room(&p->name, 1);
	if (S_ISDIR(st.st_mode))
		return folder_enter(p, fd, ".", err) && tree_walk(p, err);
	memcpy(folder, path, (size_t)(slash - path) + 1);
	folder[slash - path + 1] = '\0';
	parent = files_open(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
	(void)buf_adds(&p->name, slash + 1);
	return entry_add(p, parent, slash + 1, err);
}

int pack_child(int data, int answer, const void *arg)
{
	const struct pack_request *rq = arg;
	static struct pack p;
	CLEANUP(buf) struct buf json = BUF_INIT(256);
	struct err err = {0};

	p.to = data;
	p.left = rq->max_bytes;
	buf_init(&p.out, 4 * CHUNK);
	buf_init(&p.name, 2 * TAR_NAME_MAX + 512);
	if (!path_pack(&p, rq->path, &err) || !tar_add_end(&p.out) || !flush(&p, &err)) {
		answer_error(answer, &err, p.name.len ? p.name.data : NULL);
		return 1;
	}
	(void)buf_addc(&json, '{');
	boxjson_add_u64(&json, "entries", p.entries);
	boxjson_add_u64(&json, "bytes", p.bytes);
	boxjson_add_u64(&json, "skipped", p.skipped);
	(void)buf_addc(&json, '}');
	answer_done(answer, &json);
	return 0;
}
