#pragma once
/*
 * What a handler process gives up once it is set up: new privileges, core dumps, starting programs,
 * and every socket that is not a unix one.
 */
#include "err.h"

bool confine(struct err *err) NODISCARD;
