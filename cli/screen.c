/*
 * Redrawing with the few escapes that every terminal has had for decades. Text is the caller's to
 * have made sane (cli_sane).
 */
#include "screen.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_UNKNOWN 80
#define HEIGHT_UNKNOWN 24

static volatile sig_atomic_t interrupted;

static void on_signal(int signo)
{
	(void)signo;
	interrupted = 1;
}

bool screen_interrupted(void)
{
	return interrupted;
}

bool screen_is_terminal(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) && term && *term && strcmp(term, "dumb") != 0;
}

static void measure(struct screen *s)
{
	struct winsize size;

	s->width = WIDTH_UNKNOWN;
	s->height = HEIGHT_UNKNOWN;
	if (ioctl(fileno(s->out), TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return;
	s->width = size.ws_col;
	s->height = size.ws_row;
}

void screen_open(struct screen *s, FILE *out)
{
	struct sigaction action = {.sa_handler = on_signal};

	*s = (struct screen){.out = out, .is_open = screen_is_terminal(out)};
	if (!s->is_open)
		return;
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGHUP, &action, NULL);
	/* the other screen, no cursor */
	(void)fputs("\033[?1049h\033[?25l", out);
	(void)fflush(out);
}

void screen_close(struct screen *s)
{
	if (!s->is_open)
		return;
	(void)fputs("\033[?25h\033[?1049l", s->out);
	(void)fflush(s->out);
	s->is_open = false;
}

size_t screen_fit(const char *text, int columns)
{
	size_t n = 0;

	for (; text[n]; n++)
		if (((unsigned char)text[n] & 0xc0) != 0x80 && columns-- <= 0)
			break;
	return n;
}

void screen_begin(struct screen *s)
{
	if (!s->is_open)
		return;
	measure(s);
	s->row = 0;
	(void)fputs("\033[H", s->out);
}

void screen_line(struct screen *s, const char *text)
{
	if (!s->is_open || s->row >= s->height - 1)
		return;
	s->row++;
	(void)fprintf(s->out, "%.*s\033[K\r\n", (int)screen_fit(text, s->width - 1), text);
}

void screen_end(struct screen *s)
{
	if (!s->is_open)
		return;
	(void)fputs("\033[J", s->out);
	(void)fflush(s->out);
}

void screen_status(struct screen *s, const char *text)
{
	if (!s->out || !screen_is_terminal(s->out))
		return;
	measure(s);
	(void)fprintf(s->out, "\r%.*s\033[K", (int)screen_fit(text, s->width - 1), text);
	(void)fflush(s->out);
	s->has_line = true;
}

void screen_clear_status(struct screen *s)
{
	if (!s->has_line)
		return;
	(void)fputs("\r\033[K", s->out);
	(void)fflush(s->out);
	s->has_line = false;
}
