#pragma once
/*
 * Masks secrets in text: values that are known (8 bytes or longer) and shapes of well-known tokens
 * (our own, GitHub, GitLab, Slack, AWS, npm, Anthropic and the like, "Bearer x", user:token@ in
 *URLs of x-access-token). What is masked shows as [redacted], with the last four characters where
 *the secret has 20 or more.
 *
 * It is a stream: a secret split between two calls is found all the same, for the end of the input
 * is held back as long as it may be the beginning of a secret. Whoever counts bytes counts what
 * redact_held says as not yet out.
 *
 *	redact(r, in, n, &out); ... redact(r, in2, n2, &out); ... redact_end(r, &out);
 */
#include <stddef.h>

struct buf;
struct redactor;

struct redactor *redactor_new(void);
void redactor_free(struct redactor *r);
void cleanup_redactor(struct redactor **r);
/* Adds a known value; shorter than 8 bytes it is left out, since it would mask plain words. Between
 * streams only. */
void redactor_add(struct redactor *r, const char *value);

void redact(struct redactor *r, const char *in, size_t n, struct buf *out);
/* The input is over (or must be shown now): what was held back comes out, masked where it is whole.
 */
void redact_end(struct redactor *r, struct buf *out);
/* Input bytes taken that have not come out yet. */
size_t redact_held(const struct redactor *r);
