#pragma once
/*
 * A row per mutation, whether it was done or refused: who, from where, what, about what, and how it
 * ended. Never a body, never a secret.
 */
#include <stdint.h>

#include "err.h"

struct db;

struct audit {
	int64_t account_id; /* 0: nobody was signed in */
	const char *caller, *address, *method, *path, *action;
	const char *subject; /* the run, exec or blob; NULL: none */
	const char *request_id;
	int status;
	int64_t ms;
};

/* In a transaction with the account set. */
bool audit_add(struct db *db, const struct audit *a, struct err *err) NODISCARD;
