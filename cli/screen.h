#pragma once
/*
 * What is redrawn on a terminal: a whole screen, or one line below what scrolls. Neither does
 * anything where there is no terminal.
 */
#include <stdbool.h>
#include <stdio.h>

#include "err.h"

struct screen {
	FILE *out;
	int width, height;
	int row;       /* of the frame being drawn */
	bool is_open;  /* a whole screen */
	bool has_line; /* a status line is shown */
};

/* A terminal, and one that can be redrawn? */
bool screen_is_terminal(FILE *out);
/* The whole screen, beside what was there, until screen_close; SIGINT, SIGTERM and SIGHUP are then
 * seen by screen_interrupted alone. */
void screen_open(struct screen *s, FILE *out);
void screen_close(struct screen *s);
bool screen_interrupted(void);
/* A frame: begun, its lines (what does not fit is left out), ended. */
void screen_begin(struct screen *s);
void screen_line(struct screen *s, const char *text);
void screen_end(struct screen *s);
/* The line at the bottom, shown anew, and taken away before something else is printed. */
void screen_status(struct screen *s, const char *text);
void screen_clear_status(struct screen *s);
/* How many bytes of the text fit into so many columns: whole characters, each taken for one. */
size_t screen_fit(const char *text, int columns);
