/*
 * ATTACH and WELCOME: who we are, and who we are from now on. A clone wakes up with its template's
 * clock, random pool and names; all of that is replaced here before READY, and nothing else runs
 * before READY.
 */
#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "boot.h"
#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec.h"
#include "look.h"
#include "random.h"
#include "text.h"
#include "worker.h"

#define ENTROPY_BYTES 64

static void execs_add(struct boxd *b, struct buf *json)
{
	boxjson_add_key(json, "execs");
	(void)buf_addc(json, '[');
	for (struct exec *e = b->execs; e; e = e->next) {
		boxjson_add_key(json, NULL);
		(void)buf_addc(json, '{');
		boxjson_add_i64(json, "stream", e->stream);
		boxjson_add_u64(json, "sent", e->base + e->ring.len);
		boxjson_add_u64(json, "acked", e->base);
		boxjson_add_bool(json, "exited", e->state == EXEC_ENDED);
		(void)buf_addc(json, '}');
	}
	(void)buf_addc(json, ']');
}

static void machine_add(const struct boxd *b, struct buf *json)
{
	boxjson_add_key(json, "machine");
	(void)buf_addc(json, '{');
	boxjson_add_i64(json, "memory_bytes", machine_memory_bytes(b));
	boxjson_add_i64(json, "cpus", machine_cpus(b));
	boxjson_add_i64(json, "nics", machine_nics());
	boxjson_add_i64(json, "uid", (int64_t)getuid());
	boxjson_add_i64(json, "clock_ms", time_now_ms());
	(void)buf_addc(json, '}');
}

bool hello_attach(struct boxd *b, const struct boxjson *in, struct err *err)
{
	CLEANUP(buf) struct buf json = BUF_INIT(WIRE_PAYLOAD_MAX);
	struct utsname uts = {0};
	const char *nonce;
	int64_t protocol;

	if (!boxjson_i64(in, "protocol", 0, INT64_MAX, 0, &protocol, err) ||
		!boxjson_text(in, "nonce", "", &nonce, err))
		return false;
	if (protocol != WIRE_PROTOCOL)
		return err_set(
			err, ERR_CONFLICT, "protocol %lld is not spoken here", (long long)protocol);
	/* whatever the last host began is over: requests die, execs and their bytes stay */
	channel_drop_unsent(b);
	workers_kill_all(b);
	looks_drop_all(b);
	probe_gate_drop(b);
	egress_drop_all(b);
	b->ready = false;
	b->ever_attached = true;
	for (struct exec *e = b->execs; e; e = e->next)
		exec_rewind(e);
	(void)uname(&uts);
	(void)buf_addc(&json, '{');
	boxjson_add_i64(&json, "protocol", WIRE_PROTOCOL);
	boxjson_add_text(&json, "nonce", nonce);
	boxjson_add_text(&json, "build", BOXD_BUILD);
	boxjson_add_text(&json, "boot_id", b->boot_id);
	boxjson_add_text(&json, "kernel", uts.release);
	machine_add(b, &json);
	execs_add(b, &json);
	(void)buf_addc(&json, '}');
	channel_send(b, WIRE_HELLO, 0, &json);
	return true;
}

bool clock_set(struct boxd *b, int64_t time_ms, struct err *err)
{
	struct timespec ts = {.tv_sec = time_ms / 1000, .tv_nsec = time_ms % 1000 * 1000000};

	if (b->owns_machine && clock_settime(CLOCK_REALTIME, &ts))
		return err_errno(err, ERR_INTERNAL, "set the clock");
	return true;
}

static bool hex_read(const char *hex, unsigned char *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	if (strlen(hex) != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *hi = strchr(digits, hex[2 * i]), *lo = strchr(digits, hex[2 * i + 1]);

		if (!hi || !lo)
			return false;
		out[i] = (unsigned char)((hi - digits) << 4 | (lo - digits));
	}
	return true;
}

/* Mixes the host's bytes in and makes every generator start anew from the pool. */
static bool entropy_add(const char *hex, struct err *err)
{
	/* struct rand_pool_info: entropy_count, buf_size, then the bytes */
	struct {
		int entropy_count, buf_size;
		unsigned char bytes[ENTROPY_BYTES];
	} pool = {.entropy_count = 8 * ENTROPY_BYTES, .buf_size = ENTROPY_BYTES};
	CLEANUP(fd) int fd = -1;

	if (!hex_read(hex, pool.bytes, ENTROPY_BYTES))
		return err_set(err, ERR_INVALID, "entropy: 128 hex digits are wanted");
	fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) || ioctl(fd, RNDRESEEDCRNG))
		return err_errno(err, ERR_INTERNAL, "reseed");
	explicit_bzero(&pool, sizeof(pool));
	return true;
}

/* New content of a file that boot_machine made, or that a container has. Shortened last: who reads
 * meanwhile sees no empty file. */
static bool name_write(const struct boxd *b, const char *name, const char *text, struct err *err)
{
	CLEANUP(buf) struct buf path = BUF_INIT(256);
	CLEANUP(fd) int fd = -1;
	size_t n = strlen(text);

	(void)buf_addf(&path, "%s/%s", b->owns_machine ? NAMES_DIR : "/etc", name);
	fd = open(path.data, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (b->owns_machine ? 0 : O_CREAT),
		0644);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n || ftruncate(fd, (off_t)n))
		return err_errno(err, ERR_INTERNAL, "write %s", path.data);
	return true;
}

static bool names_set(
	const struct boxd *b, const char *hostname, const char *machine_id, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(1024);
	unsigned char id[16];

	if (!text_is_name(hostname) || strlen(hostname) > 63)
		return err_set(err, ERR_INVALID, "hostname: not a name");
	if (!hex_read(machine_id, id, sizeof(id)))
		return err_set(err, ERR_INVALID, "machine_id: 32 hex digits are wanted");
	/* a container was given its name by its engine */
	if (b->owns_machine && sethostname(hostname, strlen(hostname)))
		return err_errno(err, ERR_INTERNAL, "set the host name");
	(void)buf_addf(&text, "%s\n", machine_id);
	if (!name_write(b, "machine-id", text.data, err))
		return false;
	buf_reset(&text);
	(void)buf_addf(&text, "%s\n", hostname);
	if (!name_write(b, "hostname", text.data, err))
		return false;
	buf_reset(&text);
	(void)buf_addf(&text, "127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost\n", hostname);
	return name_write(b, "hosts", text.data, err) &&
	       name_write(b, "resolv.conf", "# this box has no resolver: use the proxy\n", err);
}

/* The kernel's boot id is its template's: programs see ours through a bind mount. */
static bool boot_id_renew(struct boxd *b, struct err *err)
{
	unsigned char r[16];
	char line[48];

	random_bytes(r, sizeof(r));
	r[6] = (unsigned char)((r[6] & 0x0f) | 0x40);
	r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
	(void)snprintf(b->boot_id, sizeof(b->boot_id),
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", r[0], r[1],
		r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], r[14],
		r[15]);
	(void)snprintf(line, sizeof(line), "%s\n", b->boot_id);
	return !b->owns_machine || name_write(b, "boot_id", line, err);
}

bool hello_welcome(struct boxd *b, const struct boxjson *in, struct err *err)
{
	CLEANUP(buf) struct buf json = BUF_INIT(256);
	const char *entropy, *hostname, *machine_id;
	int64_t time_ms;

	if (!b->ever_attached)
		return err_set(err, ERR_CONFLICT, "WELCOME before ATTACH");
	if (!boxjson_i64(in, "time_ms", 0, INT64_C(1) << 48, 0, &time_ms, err) ||
		!boxjson_text(in, "entropy", "", &entropy, err) ||
		!boxjson_text(in, "hostname", "", &hostname, err) ||
		!boxjson_text(in, "machine_id", "", &machine_id, err))
		return false;
	if (!clock_set(b, time_ms, err))
		return false;
	/* a plain process shares its machine with others, a container its kernel */
	if (b->owns_machine && !entropy_add(entropy, err))
		return false;
	if ((b->owns_machine || b->in_container) && !names_set(b, hostname, machine_id, err))
		return false;
	if (!boot_id_renew(b, err))
		return false;
	b->ready = true;
	(void)buf_addc(&json, '{');
	boxjson_add_text(&json, "boot_id", b->boot_id);
	boxjson_add_i64(&json, "clock_ms", time_now_ms());
	(void)buf_addc(&json, '}');
	channel_send(b, WIRE_READY, 0, &json);
	question_resend(b);
	return true;
}
