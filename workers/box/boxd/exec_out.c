/*
 * An exec's bytes. Output: what its two pipes say goes into one ring with one offset; the ring is
 * what may be unsafe at the host, so a full ring stops the reading and the pipe stops the process.
 * Frames are cut from the ring when the channel has room, and again from the last safe byte when a
 * new host attaches. Input: a buffer in front of the pipe, given back as credit.
 */
#include "exec.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "boxd.h"
#include "loop.h"

/* One frame of output: small enough that several execs share the channel smoothly. */
#define FRAME_BYTES (16u * 1024)

static bool ring_has_room(const struct exec *e)
{
	return e->ring.len < WIRE_WINDOW && e->nsegments < EXEC_SEGMENTS;
}

static void pipe_close(struct exec_pipe *p)
{
	watch_remove(p->watch);
	p->watch = NULL;
	if (p->fd >= 0)
		(void)close(p->fd);
	p->fd = -1;
}

static void segment_add(struct exec *e, enum wire_type type)
{
	uint64_t end = e->base + e->ring.len;

	if (e->nsegments && e->segments[e->nsegments - 1].type == type)
		e->segments[e->nsegments - 1].end = end;
	else
		e->segments[e->nsegments++] = (struct exec_segment){.end = end, .type = type};
}

/* One read. False when there is nothing now, no room, or no pipe any more. */
static bool pipe_read(struct exec_pipe *p)
{
	struct exec *e = p->exec;
	size_t room = WIRE_WINDOW - e->ring.len;
	ssize_t n;
	char *to;

	if (p->fd < 0 || !ring_has_room(e))
		return false;
	if (room > 64 * 1024)
		room = 64 * 1024;
	to = buf_room(&e->ring, room);
	n = read(p->fd, to, room);
	if (n > 0) {
		buf_grew(&e->ring, (size_t)n);
		segment_add(e, p->type);
		return true;
	}
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN)
		return false;
	pipe_close(p);
	return false;
}

static void pipe_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct exec_pipe *p = arg;
	struct exec *e = p->exec;

	(void)loop;
	(void)events;
	(void)pipe_read(p);
	exec_pipes_arm(e);
	if (exec_pipes_ended(e))
		exec_check(e);
}

void exec_pipes_arm(struct exec *e)
{
	bool room = ring_has_room(e);

	for (int i = 0; i < 2; i++) {
		struct exec_pipe *p = &e->out[i];

		if (p->fd < 0)
			continue;
		/* a pipe that is not watched at all: EPOLLHUP cannot be masked */
		if (room && !p->watch) {
			p->watch = loop_add_fd(e->boxd->loop, p->fd, EPOLLIN, pipe_ready, p);
		} else if (!room && p->watch) {
			watch_remove(p->watch);
			p->watch = NULL;
		}
	}
}

bool exec_pipes_ended(const struct exec *e)
{
	return e->out[0].fd < 0 && e->out[1].fd < 0;
}

void exec_pipes_drain(struct exec *e)
{
	for (int i = 0; i < 2; i++) {
		while (pipe_read(&e->out[i]))
			;
		/* nobody is left to write: what is empty stays empty */
		if (ring_has_room(e))
			pipe_close(&e->out[i]);
	}
	exec_pipes_arm(e);
}

static void stdin_close(struct exec *e)
{
	watch_remove(e->in_watch);
	e->in_watch = NULL;
	if (e->in_fd >= 0)
		(void)close(e->in_fd);
	e->in_fd = -1;
}

static void stdin_write(struct exec *e)
{
	unsigned char credit[8];
	ssize_t n;

	while (e->in_fd >= 0 && e->in.len) {
		n = write(e->in_fd, e->in.data, e->in.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			stdin_close(e);
			break;
		}
		buf_shift(&e->in, (size_t)n);
		e->in_taken += (uint64_t)n;
	}
	if (e->in_fd < 0) {
		/* nobody reads: the rest is taken and lost, as with a closed pipe */
		e->in_taken += e->in.len;
		buf_reset(&e->in);
	}
	if (e->boxd->ready) {
		wire_put_u64(credit, e->in_taken + WIRE_WINDOW - e->in_own);
		channel_send_raw(e->boxd, WIRE_CREDIT, e->stream, credit, sizeof(credit));
	}
	if (e->in_eof && !e->in.len)
		stdin_close(e);
	if (e->in_watch)
		watch_set_events(e->in_watch, e->in.len ? EPOLLOUT : 0);
}

static void stdin_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct exec *e = arg;

	(void)loop;
	if (events & EPOLLERR)
		stdin_close(e);
	stdin_write(e);
}

bool exec_stdin(struct exec *e, const void *data, size_t n, struct err *err)
{
	if (e->in_eof)
		return err_set(err, ERR_INVALID, "stdin of stream %u after its end", e->stream);
	if (!buf_add(&e->in, data, n))
		return err_set(err, ERR_INVALID, "stdin of stream %u beyond its credit", e->stream);
	stdin_write(e);
	return true;
}

bool exec_stdin_own(struct exec *e, const void *data, size_t n, struct err *err)
{
	if (e->in_fd < 0 || e->in_eof)
		return err_set(err, ERR_CONFLICT, "stream %u has no open stdin", e->stream);
	if (!buf_add(&e->in, data, n))
		return err_set(err, ERR_BUSY, "stdin of stream %u is full", e->stream);
	e->in_own += n;
	stdin_write(e);
	return true;
}

void exec_stdin_eof(struct exec *e)
{
	e->in_eof = true;
	if (!e->in.len)
		stdin_close(e);
}

void exec_pipes_open(struct exec *e, int out_fd, int err_fd, int in_fd)
{
	e->out[0] = (struct exec_pipe){.fd = out_fd, .type = WIRE_STDOUT, .exec = e};
	e->out[1] = (struct exec_pipe){.fd = err_fd, .type = WIRE_STDERR, .exec = e};
	e->in_fd = in_fd;
	if (in_fd >= 0)
		e->in_watch = loop_add_fd(e->boxd->loop, in_fd, 0, stdin_ready, e);
	exec_pipes_arm(e);
}

bool exec_credit(struct exec *e, uint64_t value, struct err *err)
{
	size_t n = 0;

	if (value > e->sent)
		return err_set(err, ERR_INVALID, "credit for bytes of stream %u that were not sent",
			e->stream);
	if (value <= e->base)
		return true;
	buf_shift(&e->ring, (size_t)(value - e->base));
	e->base = value;
	while (n < e->nsegments && e->segments[n].end <= value)
		n++;
	for (size_t i = n; i < e->nsegments; i++)
		e->segments[i - n] = e->segments[i];
	e->nsegments -= n;
	exec_pipes_arm(e);
	if (e->state == EXEC_FLUSHING)
		exec_check(e);
	return true;
}

static bool frame_add(struct exec *e)
{
	uint64_t end = e->base + e->ring.len;
	size_t n, i = 0;

	if (e->sent == end) {
		if (e->state != EXEC_ENDED || e->exit_sent)
			return false;
		exec_exit_send(e);
		return true;
	}
	while (e->segments[i].end <= e->sent)
		i++;
	n = (size_t)(e->segments[i].end - e->sent);
	if (n > FRAME_BYTES)
		n = FRAME_BYTES;
	if (!wire_add_output(&e->boxd->out, e->segments[i].type, e->stream, e->sent,
		    e->ring.data + (e->sent - e->base), n))
		return false;
	e->sent += n;
	return true;
}

bool exec_pump(struct boxd *b)
{
	struct exec *e, *chosen = NULL;

	for (e = b->execs; e; e = e->next)
		if (frame_add(e)) {
			chosen = e;
			break;
		}
	if (!chosen || !chosen->next)
		return chosen != NULL;
	/* who was served goes to the end of the list */
	for (struct exec **at = &b->execs; *at; at = &(*at)->next)
		if (*at == chosen) {
			*at = chosen->next;
			break;
		}
	for (e = b->execs; e->next; e = e->next)
		;
	e->next = chosen;
	chosen->next = NULL;
	return true;
}

void exec_rewind(struct exec *e)
{
	e->sent = e->base;
	e->exit_sent = false;
}
