#pragma once
/*
 * Places where a test kills the program, to see that whoever comes next mends it, and wrongs made
 * on purpose, to see them refused. Both do nothing outside test builds (MODE=debug or asan), and
 * nothing unless ASB_FAULT_DIR names a folder: a file there of the point's name arms it once (the
 * process that takes the file away dies as by `kill -9`); a file "switch-NAME" holds a switch on.
 * So one running site serves a whole sweep of faults.
 */
#ifdef ASB_TEST
void kill_point(const char *name);
/* switches: nic, uid0, noseccomp, memory2x */
int test_switch(const char *name);
#else
static inline void kill_point(const char *name)
{
	(void)name;
}
static inline int test_switch(const char *name)
{
	(void)name;
	return 0;
}
#endif
