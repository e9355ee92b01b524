#pragma once
/*
 * The box protocol: one framed byte stream between the host and asb-boxd, the same on every
 * runtime, and between a shim and its runners and its gate.
 *
 *	u32 length of payload | u8 type | u8 flags (0) | u16 0 | u32 stream | payload
 *
 * Little-endian, payload at most 64 KiB. A frame that breaks a rule here ends the stream: the
 * other side is hostile or broken. Control payloads are JSON objects, strict, at most 64 KiB, as
 * named beside each type; all else is bytes.
 *
 * Streams. 0 is the connection itself. 1..0x7fffffff are execs, numbered by the host (the row
 * execs.stream; never used twice in a box). 0x80000000 and up are egress connections, numbered by
 * boxd, spoken with the gate.
 *
 * Opening, on the box's channel (the shim is the host's end; host speaks first, at any time, and
 * again after it reconnected):
 *
 *	host  ATTACH {"protocol":1,"nonce":"<hex>"}
 *	box   HELLO  {"protocol":1,"nonce":"<same>","build":"..","boot_id":"..","kernel":"..",
 *	              "machine":{"memory_bytes":N,"cpus":N,"nics":N,"uid":0,"clock_ms":N},
 *	              "execs":[{"stream":N,"sent":OFF,"acked":OFF,"exited":bool}]}
 *	host  WELCOME {"time_ms":N,"entropy":"<128 hex>","hostname":"..","machine_id":"<32 hex>"}
 *	box   READY  {"boot_id":"..","clock_ms":N}     after the clock, the random pool, the host
 *	              name, machine-id and a fresh boot id are in place; no EXEC is served before
 *
 * Opening, runner to shim (unix socket, peer uid checked):
 *
 *	runner ATTACH {"lane":"drive","epoch":N}       lane: drive | ask | exec:ID | look | admin;
 *	              "resume":true lets a paused box go on
 *	shim   HELLO  {"box":"box-..","boot_id":"..","kernel":"..","ready":bool,"machine":{..},
 *	              "execs":[{"stream":N,"lane":"drive","from":OFF,"exited":bool}],
 *	              "question":{"id":"..","text":"..","stream":N} or absent}
 *	shim   ERROR  {"code":"stale_epoch"|"not_ready"|"box_lost"|...,"message":".."} and closes
 *
 * The shim keeps the highest epoch per lane, refuses lower ones and closes older connections of
 * the lane (admin: all lanes). After HELLO it replays every unacknowledged frame of the lane's
 * streams, then relays. Frames of a stream go to the runner whose lane started it. An exec's stdin
 * stays open from one runner to the next: a later one may send STDIN and EOF, and has WIRE_WINDOW
 * of its own before it needs a CREDIT.
 *
 * Questions. One may be open in a box; a second asb-ask is told so and fails. boxd puts the text
 * into RUN/question (root's, 0644: the marker that hooks look for), and the lane takes no EXEC.
 *
 *	"ask":"block"   everything in the lane freezes at once; asb-ask prints the answer when it
 *	                comes. For agents whose tools may wait.
 *	"ask":"return"  asb-ask prints at once that the question was handed over, and exits 0. The
 *	                exec's main process and what lies between it and asb-ask go on until FREEZE
 *	                of lane drive (the host has seen the turn's end) or for 5 s; all else of the
 *	                lane freezes at once. The answer goes to the exec's stdin.
 *
 * ANSWER does all of its work in one go, in this order: the line on stdin, the marker's removal,
 * the thaw. So an answer whose DONE was lost is refused when it is repeated (the question is not
 * open any more) and nothing is said twice.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

#define WIRE_PROTOCOL 1
#define WIRE_HEADER 12
#define WIRE_PAYLOAD_MAX (64u * 1024)
#define WIRE_STREAM_EGRESS 0x80000000u
/* What boxd asks the gate for to see that it refuses; of a package, as anybody's. */
#define WIRE_SEAL_PATH "/pkg/npm/asb-seal-proof"
/* Bytes of an exec's output that boxd sends beyond what was credited, and keeps for a re-send. */
#define WIRE_WINDOW (256u * 1024)
/* The payload of STDOUT and STDERR: u64 offset, then bytes. stdout and stderr of an exec share one
 * offset, in the order boxd read them, so that a log is one sequence. */
#define WIRE_OFFSET 8
/* Processes and threads of a lane's execs, all together. boxd sets it, the host has it read back.
 */
#define BOX_PIDS 1024

enum wire_type {
	WIRE_ATTACH = 1, /* host -> box, runner -> shim; above */
	WIRE_HELLO,	 /* answer to ATTACH */
	WIRE_WELCOME,	 /* host -> box */
	WIRE_READY,	 /* box -> host */
	WIRE_EXEC, /* host -> box: {"argv":[..],"env":{..},"cwd":"..","user":"agent|ask|git|root",
		    * "lane":"drive|ask|exec:ID|look|admin","stdin":bool,"timeout_ms":N,
		    * "memory_bytes":N,"pids":N,"ask":"block|return","code":"/path",
		    * "code_text":"..","ahead":bool} on a fresh stream. root is for setup only; ask
		    * says what asb-ask does in it (above; default block). code is a file that goes
		    * when the exec has ended; with code_text it is written first, as TAR_IN's text
		    * is. ahead: code is the last of argv, and when this one is over, the next that
		    * differs in code alone may be begun before it is asked for; its code then lies
		    * in a file of another name in the same folder. */
	WIRE_STARTED, /* box -> host: {"pid":N} */
	WIRE_STDIN, /* host -> box: bytes; at most WIRE_WINDOW beyond CREDITed (boxd CREDITs too) */
	WIRE_STDOUT,   /* box -> host: u64 offset + bytes */
	WIRE_STDERR,   /* the same */
	WIRE_EOF,      /* host -> box: end of stdin or tar; egress: end of that direction */
	WIRE_EXIT,     /* box -> host, last of a stream: {"code":N|null,"signal":N|null,
			* "timed_out":bool,"oom":bool,"killed_rest":N,"end":OFF,
			* "utime_ms":N,"stime_ms":N,"max_rss_bytes":N,"duration_ms":N} */
	WIRE_SIGNAL,   /* host -> box: {"signal":N,"all":bool}; all: everything the exec started */
	WIRE_CREDIT,   /* u64: on exec streams toward the box, "everything below this offset is
			* kept safe"; on STDIN, tar and egress toward the sender, total bytes it
			* may have sent. Runner -> shim it is the acknowledgement after commit. */
	WIRE_ACK_EXIT, /* runner -> shim -> box: the EXIT of this stream is committed; forget it */
	WIRE_OPEN,     /* box -> gate: {"route":"/git/.."} or {"host":"..","port":N} */
	WIRE_ACCEPT,   /* gate -> box: {} */
	WIRE_REFUSE,   /* gate -> box: {"reason":"..","message":".."}; also ends a stream in error.
			* gate_down, gate_unavailable, limit, too_fast, too_many_streams pass in a
			* moment: boxd makes them a 503, all others a 403 */
	WIRE_DATA,     /* both ways on egress and tar streams: bytes, under CREDIT */
	WIRE_TAR_IN,  /* host -> box on a fresh stream: {"path":"/workspace/x","user":"agent"}; then
		       * DATA.., EOF; answered by DONE or ERROR naming the entry. With "name",
		       * "mode" and "text": that one file, into a folder of boxd's or the user's
		       * own, and no DATA follows */
	WIRE_TAR_OUT, /* host -> box: {"path":"..","max_bytes":N}; answered by DATA.. then DONE */
	WIRE_STAT,    /* host -> box: {"path":".."} -> DONE {"kind","size","mode","mtime_ms"} */
	/* The looks: as the user ("agent" unless "user" says "git"), through no link and no other
	 * mount. On a fresh stream, answered by DATA.. under CREDIT (one JSON object a line; READ:
	 * the bytes), then DONE or ERROR. DONE has "truncated" (a limit or 10 s ended it) and
	 * "skipped" (entries passed over: unreadable, too deep, too large) beside what stands here.
	 * boxd answers them itself: no process is started. */
	WIRE_LIST, /* host -> box: {"path":"..","depth":N,"max_entries":N} -> lines {"path","kind":
		    * "file|dir|symlink|other","size","mode","mtime_ms"[,"target"]}, in no order;
		    * DONE {"entries":N} */
	WIRE_DONE, /* box -> host: the request of this stream succeeded: {..} */
	WIRE_QUESTION, /* box -> host, stream 0 at the shim: {"id":"..","stream":N,"text":".."} */
	WIRE_ANSWER,   /* host -> box: {"id":"..","text":".."[,"stdin":["before","after"]]}; with
			* stdin (wanted where asb-ask returned): before, the text as a JSON string,
			* after and a newline go to the asking exec's stdin; without, the text goes
			* to asb-ask. DONE on stream 0 {"answered":"<id>"} */
	WIRE_FREEZE,   /* host -> box: {"lane":".."} -> DONE {"frozen":"<lane>"}; lane box, from
			* admin: the shim stops the box's processors */
	WIRE_THAW,     /* host -> box: {"lane":".."} -> DONE {"thawed":"<lane>"} */
	WIRE_CLOCK,    /* host -> box: {"time_ms":N} after each cont or thaw */
	WIRE_METRICS,  /* host -> box {} -> METRICS {"memory_used_bytes",..,"load","uptime_ms"} */
	WIRE_PROBE,    /* host -> box {} -> PROBE {"nics":[..],"tcp":"..","udp":"..","dns":"..",
			* "metadata":"..","host":"..","sealed":bool,"limits":{"memory_bytes",
			* "swap_bytes","pids","cpus","disk_bytes"}}: tries to reach out and says how
			* each try failed; and what its kernel says of its limits, -1: it says none */
	WIRE_PING,     /* either way, any payload up to 64 bytes */
	WIRE_PONG,     /* the same payload back */
	WIRE_ERROR,    /* {"code":"..","message":".."[,"entry":".."]}: this stream's request failed;
			* on stream 0 the connection ends */
	WIRE_BYE,      /* host -> box: kill everything, sync, power off. runner -> shim (admin lane
			* only): destroy the box and exit */
	/* looks, as above */
	WIRE_READ,   /* host -> box: {"path":"..","offset":N,"max_bytes":N}: of a plain file; DONE
		      * {"bytes","size","mode","mtime_ms","changed":bool}; changed: while it was read
		      */
	WIRE_SEARCH, /* host -> box: {"path":"..","text":"..","ignore_case":bool,"max_matches":N} ->
		      * lines {"path","line","column","text"}, text cut to 400 bytes around the
		      * match; DONE {"files","binary","matches"}. .git and files with a NUL are
		      * passed over, of a file the first 16 MiB are searched, of a line 64 KiB */
	WIRE_DIFF,   /* host -> box: {"path":"..","base":"..","max_changes":N} -> lines
		      * {"path","change":
		      * "added|removed|modified|mode|kind|unreadable"[,"kind","size","mode"][,
		      * "base_kind","base_size","base_mode"]}: what differs from the base, which is
		      * read as git, by content; DONE {"changes":N} */
	WIRE_TYPE__COUNT
};

/* "HELLO" and so on, "?" outside the enum. For logs and error texts. */
const char *wire_type_name(unsigned type);

struct wire_frame {
	uint8_t type; /* a wire_type; never another number */
	uint32_t stream;
	uint32_t length;
	const unsigned char
		*payload; /* points into the decoder's buffer: valid until the next call */
};

/* The decoder: bytes in, frames out. Memory grows with bytes that came, never with a length field
 * alone, and never past one frame. No recursion. Fuzzed; 100 % branch coverage. */
struct wire_decoder {
	struct buf in;
	size_t used; /* bytes at the front already handed out as a frame */
};
void wire_decoder_init(struct wire_decoder *d);
void wire_decoder_done(struct wire_decoder *d);
/* Room to read(2) into: at least `want` bytes are usable. */
unsigned char *wire_decoder_room(struct wire_decoder *d, size_t want);
void wire_decoder_grew(struct wire_decoder *d, size_t n);
/* true and *got: a frame; true and !*got: more bytes are needed; false: the stream broke a rule
 * (ERR_UPSTREAM, reason "protocol"). */
bool wire_decode(
	struct wire_decoder *d, struct wire_frame *frame, bool *got, struct err *err) NODISCARD;

/* Appends a frame; false where it does not fit the buffer's maximum or the payload limit. */
bool wire_add(struct buf *out, enum wire_type type, uint32_t stream, const void *payload, size_t n);
/* Appends a STDOUT or STDERR frame. */
bool wire_add_output(struct buf *out, enum wire_type type, uint32_t stream, uint64_t offset,
	const void *data, size_t n);
bool wire_add_credit(struct buf *out, uint32_t stream, uint64_t value);
/* The u64 at the front of a payload; false where it is too short. */
bool wire_u64(const struct wire_frame *f, uint64_t *out);
void wire_put_u64(unsigned char *p, uint64_t v);
uint64_t wire_get_u64(const unsigned char *p);
