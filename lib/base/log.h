#pragma once
/*
 * One line an event on stderr: `info worker job=12 run=run-x claimed`. Only the loop that owns a
 * request or a job logs; library code returns errors. Never in a line: tokens, secrets, task text,
 * environment. Strings that a user or a box made go through log_quote.
 */
#include "err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_LEVEL__COUNT };

/* program: what each line names ("web", "worker"); level: lines below it are dropped. */
void log_init(const char *program, enum log_level level);
bool log_level_parse(const char *name, enum log_level *level);
void log_error(const char *fmt, ...) PRINTF(1, 2);
void log_warn(const char *fmt, ...) PRINTF(1, 2);
void log_info(const char *fmt, ...) PRINTF(1, 2);
void log_debug(const char *fmt, ...) PRINTF(1, 2);
/* s in double quotes with control characters, quotes and backslashes escaped, cut at 120 bytes.
 * Points into one of four rotating static buffers: use it in the very next log call. */
const char *log_quote(const char *s);
