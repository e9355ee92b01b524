#pragma once
/*
 * Which addresses names may lead to that somebody else chose: only ones that anybody on the
 * internet could reach as well, at the port of https. What an operator lists in
 * EGRESS_PRIVATE_ALLOW is let through besides, endpoint by endpoint.
 */
#include <stdbool.h>

#include "err.h"

struct sockaddr;

/* Global unicast, IPv4 or IPv6, and not one that wraps another (mapped, 6to4, NAT64, Teredo). */
bool address_is_public(const struct sockaddr *a);
/* Public and port 443, or one of the words of allow ("127.0.0.1:8443 [fd00::1]:443"). */
bool address_may_be_named(const struct sockaddr *a, const char *allow);
/* Is every word of it such an endpoint, spelled as it is looked for? */
bool address_list_check(const char *allow, struct err *err) NODISCARD;
