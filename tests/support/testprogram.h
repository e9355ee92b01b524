#pragma once
#include <stdbool.h>

/*
 * The program of this name from the same build as the running test ("asb-gate":
 * build/MODE/bin/asb-gate), or one of the box's own ("asb-boxd": build/box/asb-boxd). Ends the test
 * program where it was not built. Static memory, good for eight calls.
 */
const char *testprogram(const char *name);
/* Waits up to a minute until a socket of packets can be connected to: it is there under its path
 * before it is its owner's, and that before its program listens. */
bool testprogram_listens(const char *path);
