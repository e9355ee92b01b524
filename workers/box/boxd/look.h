#pragma once
/*
 * Looking: LIST, READ, SEARCH and DIFF. They are answered by boxd itself, with no process and no
 * code of the box: each is a piece of work that is done a few milliseconds at a time between
 * everything else, and that fills a buffer which the channel takes under the host's credit.
 *
 * What is looked at is hostile, so that nothing here may wait for it: a file is opened by path
 * alone first and for reading only where it is a plain file, never for longer than an open takes (a
 * lease on it is an error); no link is followed and no other mount is entered, since what answers
 * behind it may be a program of the box. Each access is made with the user's own rights (fsuid).
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "walk.h"

struct boxd;
struct boxjson;
struct err;
struct look;
struct wire_frame;

#define LOOK_CHUNK (32u * 1024)
/* What is shown of a line, and what of a longer one is searched. */
#define LOOK_LINE_MAX 400
#define LOOK_CARRY_MAX (64u * 1024)
/* Of one file that is searched. */
#define LOOK_FILE_MAX (16u << 20)
#define LOOK_TEXT_MAX 1024

enum look_state { LOOK_MORE, LOOK_OVER, LOOK_FAILED };

struct look_file {
	int fd; /* -1: none */
	uint64_t at;
	uint64_t line;	  /* SEARCH: of the next byte, from 1 */
	struct buf carry; /* SEARCH: the beginning of a line that is not whole yet */
};

struct look {
	struct boxd *boxd;
	struct look *next;
	uint32_t stream;
	uid_t uid;
	int64_t until_ms;
	uint64_t moved, allowed;
	struct buf out;	 /* DATA to be sent */
	struct buf done; /* the members of DONE, when it is over */
	enum look_state (*step)(struct look *l, struct err *err);
	enum look_state state;
	/* what is being done, by kind */
	struct walk walk;
	char *text; /* SEARCH: what for */
	size_t text_len;
	bool ignore_case, truncated, changed;
	int64_t max, left; /* entries, bytes or matches that may still come */
	struct look_file file, base_file;
	struct stat st; /* READ: when it was opened */
	int top, base;	/* DIFF: both folders */
	bool in_base;	/* DIFF: the second walk */
	bool comparing;
	struct stat entry, base_entry;
	uint64_t files, binary;
};

/* Starts one; the answer follows. */
bool look_list(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err);
bool look_read(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err);
bool look_search(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err);
bool look_diff(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err);
struct look *look_find(struct boxd *b, uint32_t stream);
bool look_frame(struct look *l, const struct wire_frame *f, struct err *err);
bool looks_pump(struct boxd *b);
/* The host is new: what it asked before is void. */
void looks_drop_all(struct boxd *b);

/* --- between look.c and the kinds of look --- */
/* A look of user's on a fresh stream, not begun; NULL and err where there may not be one. It is
 * given a step by look_begin or freed by look_free. */
struct look *look_new(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err);
void look_begin(struct look *l, enum look_state (*step)(struct look *l, struct err *err));
void look_free(struct look *l);
/* From here on, files are the user's own; and boxd's again. */
void look_as(const struct look *l, uid_t uid);
void look_as_boxd(const struct look *l);
/* A path from the root, opened without waiting: the folder, or the file where `file`. -1 and err.
 */
int look_open(const struct look *l, const char *path, bool file, struct err *err);
/* A plain file in a folder that is open; -1 and errno. */
int look_open_at(int at, const char *name);
/* At most n bytes at the file's place, which moves on; 0 at its end or where it cannot be read. */
size_t look_file_read(struct look_file *f, char *to, size_t n);
void look_file_end(struct look_file *f);
/* Opens a line of the answer with the path, for members to follow; and ends it. */
void look_line(struct look *l);
void look_line_end(struct look *l);
