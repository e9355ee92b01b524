#pragma once
/*
 * A child of asb-web: answers requests from the socket, one after the other, until it is told to
 * end or has done its share.
 */
struct config;

/* tools: struct site's. Never returns. */
void web_child(const struct config *cfg, const char *tools, int sock) __attribute__((noreturn));
