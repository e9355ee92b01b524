/*
 * Log lines: key=value on stderr, one write each so that lines of several processes do not mix.
 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warn",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};
_Static_assert(sizeof(level_names) / sizeof(level_names[0]) == LOG_LEVEL__COUNT, "a name each");

static char log_program[32] = "asb";
static enum log_level log_level = LOG_INFO;

void log_init(const char *program, enum log_level level)
{
	(void)snprintf(log_program, sizeof(log_program), "%s", program);
	log_level = level;
}

bool log_level_parse(const char *name, enum log_level *level)
{
	for (int i = 0; i < LOG_LEVEL__COUNT; i++)
		if (!strcmp(name, level_names[i])) {
			*level = (enum log_level)i;
			return true;
		}
	return false;
}

static void PRINTF(2, 0) line_write(enum log_level level, const char *fmt, va_list ap)
{
	char line[1024];
	int n, m;

	if (level > log_level)
		return;
	n = snprintf(line, sizeof(line), "%s %s ", level_names[level], log_program);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	if (m < 0)
		return;
	n += m;
	if ((size_t)n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	/* a full or closed stderr is not a reason to stop working */
	(void)!write(STDERR_FILENO, line, (size_t)n);
}

#define LEVEL_FN(name, level)               \
	void name(const char *fmt, ...)     \
	{                                   \
		va_list ap;                 \
		va_start(ap, fmt);          \
		line_write(level, fmt, ap); \
		va_end(ap);                 \
	}
LEVEL_FN(log_error, LOG_ERROR)
LEVEL_FN(log_warn, LOG_WARN)
LEVEL_FN(log_info, LOG_INFO)
LEVEL_FN(log_debug, LOG_DEBUG)

const char *log_quote(const char *s)
{
	static char bufs[4][256];
	static unsigned next;
	char *out = bufs[next++ % 4];
	size_t n = 0;

	out[n++] = '"';
	for (size_t i = 0; i < 120 && s[i]; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\') {
			out[n++] = '\\';
			out[n++] = (char)c;
		} else if (c < 0x20 || c == 0x7f) {
			out[n++] = '?';
		} else {
			out[n++] = (char)c;
		}
	}
	out[n++] = '"';
	out[n] = '\0';
	return out;
}
