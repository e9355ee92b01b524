#pragma once
/* The shapes of answers that tools have: rows for their output schemas. The JSON itself is made by
 * the views and functions of sql/migrations; a test holds each real answer against its rows. */
#include "action.h"

extern const struct output output_run, output_watch, output_monitor, output_pool, output_sandbox,
	output_result, output_process, output_list, output_read, output_search, output_diff,
	output_get;
