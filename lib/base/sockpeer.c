/*
 * SO_PEERCRED in one place: credentials of a unix socket's other end.
 */
#include "sockpeer.h"

#include <sys/socket.h>

uid_t socket_peer(int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? (uid_t)-1 : peer.uid;
}
