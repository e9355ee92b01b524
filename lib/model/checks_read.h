#pragma once
/* Between checks.c and the readers of one format each. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "checks.h"

struct pool;

/* In order of preference where more than one was seen: the more exact format wins. */
enum checks_format {
	CHECKS_JUNIT,
	CHECKS_GO,
	CHECKS_NODE,
	CHECKS_TAP,
	CHECKS_PYTEST,
	CHECKS_FORMAT__COUNT
};

struct checks_failure {
	const char *name, *message;
};

struct checks_tally {
	bool known; /* what was seen is enough to say that this is the format */
	int64_t passed, failed, skipped;
	size_t nfailures;
	struct checks_failure failures[CHECKS_FAILURES_MAX];
};

struct checks_tap {
	bool counted; /* a result line was seen */
	int64_t planned, ran;
	bool in_yaml;	/* of a failure: its message is being looked for */
	bool yaml_next; /* the message is the next line */
	bool has_plan;
	bool after_fail; /* the last result was one of the failures kept */
};

struct checks_node {
	bool pass_seen;
	bool is_spec;	 /* a sum in the `spec` text was seen */
	bool in_failing; /* behind "failing tests:" */
	bool want_message;
};

struct checks_junit {
	enum { XML_TEXT, XML_TAG, XML_COMMENT, XML_CDATA } at;
	char quote;	 /* of the attribute value that a tag is in, 0: none */
	struct buf tag;	 /* the one being read, without its angle brackets */
	struct buf text; /* of the failure being read */
	struct buf name, message;
	unsigned tail; /* the last bytes, for the ends of comments and CDATA */
	bool in_case, in_failure, failed, skipped;
};

struct checks_go_test {
	char *key; /* package and test; NULL: free */
	struct buf said;
};
#define CHECKS_GO_OPEN 32

struct checks_go {
	struct checks_go_test open[CHECKS_GO_OPEN];
	size_t next;			    /* to be taken where none is free */
	const char *failed[CHECKS_GO_OPEN]; /* packages with a failed test, the last ones */
	size_t nfailed;
};

struct checks {
	struct pool *pool;
	struct buf line;
	bool line_cut;
	struct checks_tally tallies[CHECKS_FORMAT__COUNT];
	struct checks_tap tap;
	struct checks_node node;
	struct checks_junit junit;
	struct checks_go go;
};

/* Keeps a failure where there is room; false where there is none. message may be NULL. */
bool checks_fail(struct checks *c, enum checks_format format, const char *name, size_t name_size,
	const char *message, size_t message_size);
/* Gives the failure kept last a message, unless it has one. */
void checks_fail_says(struct checks *c, enum checks_format format, const char *s, size_t n);
/* A decimal number at *s, which moves behind it; false: there is none. */
bool checks_number(const char **s, int64_t *out);

/* A line without its end and without escape sequences. */
void checks_tap_line(struct checks *c, const char *line, size_t n);
void checks_tap_end(struct checks *c);
void checks_node_line(struct checks *c, const char *line, size_t n);
/* One line of node's sum: "pass 3". False: it is none. */
bool checks_node_sum(struct checks *c, const char *s);
void checks_pytest_line(struct checks *c, const char *line, size_t n);
void checks_go_line(struct checks *c, const char *line, size_t n);
void checks_go_end(struct checks *c);
/* Bytes as they come. */
void checks_junit_feed(struct checks *c, const char *data, size_t n);
void checks_junit_end(struct checks *c);
