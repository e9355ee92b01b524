#pragma once
/*
 * Who is at the other end of a unix socket, as the kernel says: the side that connects learns who
 * listened, the side that accepts who connected.
 */
#include <sys/types.h>

/* (uid_t)-1, which is nobody's, where the kernel does not say. */
uid_t socket_peer(int fd);
