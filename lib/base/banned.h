#pragma once
/*
 * Calls that are never right here are compile errors. The Makefile includes this file before every
 * source of ours (-include), after the system headers it needs to see first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok atoi atol atof system popen tmpnam \
	mktemp
#pragma GCC poison strncpy strncat gmtime localtime ctime asctime rand srand
