#pragma once
/*
 * The program of this name from the same build as the running test ("asb-gate":
 * build/MODE/bin/asb-gate), or one of the box's own ("asb-boxd": build/box/asb-boxd). Ends the test
 * program where it was not built. Static memory, good for eight calls.
 */
const char *testprogram(const char *name);
