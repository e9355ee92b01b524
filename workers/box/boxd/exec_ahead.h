#pragma once
/*
 * The next program of a kind of exec, begun before it is asked for. One in a box.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec_request.h"

struct boxd;
struct exec;

/* An exec that is this request, begun before; NULL: there is none, and it is to be begun. Either
 * way the next of its kind is what ahead_begin begins. */
struct exec *ahead_take(struct boxd *b, uint32_t stream, const struct exec_request *rq);
/* Begins the next, if there is a kind that is to have one. */
void ahead_begin(struct boxd *b);
/* Ends what was begun, with its file: before anybody looks at the box's files. */
void ahead_drop(struct boxd *b);
/* True: it was what was begun. */
bool ahead_reaped(struct boxd *b, pid_t pid);
