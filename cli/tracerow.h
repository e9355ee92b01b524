#pragma once
/* A row of a run's trace, as watch.json and the streams have it, on a terminal. */
#include <stdio.h>

struct json_object;

void tracerow_print(FILE *out, struct json_object *row);
