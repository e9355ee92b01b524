/*
 * Finding what boxes start from. Folders are named by keys, symbolic links by names; nothing here
 * makes an image or a template (the build script and template_make.c do).
 */
#include "template.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cleanup.h"
#include "encode.h"
#include "pool.h"
#include "qemu.h"
#include "text.h"

#define VERSION_MS 20000

bool image_get(struct pool *pool, const char *cache_dir, const char *name, struct image *out,
	struct err *err)
{
	char target[256];
	const char *link, *key;
	ssize_t n;

	if (!text_is_name(name))
		return err_set(err, ERR_INVALID, "image: bad name");
	link = pool_printf(pool, "%s/images/by-name/%s", cache_dir, name);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0 && errno == ENOENT) {
		(void)err_set(err, ERR_NOT_FOUND, "image %s: not built", name);
		return err_advise(err, "image_not_found", "run make image");
	}
	if (n < 0)
		return err_errno(err, ERR_INTERNAL, "image %s", name);
	target[n] = '\0';
	key = strrchr(target, '/');
	key = pool_strdup(pool, key ? key + 1 : target);
	if (!text_is_name(key))
		return err_set(err, ERR_INTERNAL, "image %s: the link names no key", name);
	*out = (struct image){.name = pool_strdup(pool, name),
		.key = key,
		.dir = pool_printf(pool, "%s/images/%s", cache_dir, key)};
	return true;
}

const char *image_disk(struct pool *pool, const struct image *image, const struct size_class *size)
{
	return pool_printf(pool, "%s/blank-%s.img", image->dir, size->name);
}

void cleanup_template(struct template *tpl)
{
	cleanup_fd(&tpl->mem_fd);
	tpl->mem_fd = -1;
}

/* The first line of `qemu-system-x86_64 --version`. */
static bool qemu_version(struct pool *pool, const char **out, struct err *err)
{
	int ends[2], status = 0;
	char text[256];
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC))
		return err_errno(err, ERR_BUSY, "qemu version: pipe");
	CLEANUP(fd) int from = ends[0];
	struct child_fd fds[] = {{.from = ends[1], .to = 1}};
	struct child c = {.argv = (const char *const[]){QEMU_PROGRAM, "--version", NULL},
		.fds = fds,
		.nfds = 1,
		.die_with_parent = true};
	bool ok = child_start(&c, err);

	(void)close(ends[1]);
	if (!ok) {
		(void)err_advise(err, NULL, "install qemu-system-x86");
		return err_wrap(err, "qemu version");
	}
	/* it fits a pipe's buffer, so it can be waited for first */
	if (!child_wait(&c, VERSION_MS, &status, err))
		return err_wrap(err, "qemu version");
	n = read(from, text, sizeof(text) - 1);
	if (status || n <= 0)
		return err_set(err, ERR_INTERNAL, "qemu version: no answer");
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	*out = pool_strdup(pool, text);
	return true;
}

/* Everything the memory and the device state depend on; the image's key covers kernel and boxd. */
static bool template_key(struct pool *pool, const struct image *image,
	const struct size_class *size, const char **key, struct err *err)
{
	unsigned char hash[SHA256_SIZE];
	char *hex = pool_alloc(pool, 2 * SHA256_SIZE + 1);
	const char *version = "", *all;

	if (!qemu_version(pool, &version, err))
		return false;
	all = pool_printf(pool, "1\n%s\n%s\n%s\n%s %" PRId64 " %" PRId64 " %" PRId64 "\n",
		image->key, version, qemu_machine_line(pool, false), size->name, size->memory_bytes,
		size->cpus, size->disk_bytes);
	sha256(all, strlen(all), hash);
	hex_encode(hash, sizeof(hash), hex);
	hex[32] = '\0';
	*key = hex;
	return true;
}

bool template_find(struct pool *pool, const char *cache_dir, const struct image *image,
	const struct size_class *size, struct template *out, struct err *err)
{
	struct template found = TEMPLATE_INIT;
	const char *key;

	if (!template_key(pool, image, size, &key, err))
		return err_wrap(err, "template %s-%s", image->name, size->name);
	found.dir = pool_printf(pool, "%s/templates/%s", cache_dir, key);
	found.disk = pool_printf(pool, "%s/disk", found.dir);
	found.state = pool_printf(pool, "%s/state", found.dir);
	found.memory_bytes = size->memory_bytes;
	/* the folder was renamed into place whole, this file in it */
	if (!access(pool_printf(pool, "%s/template.json", found.dir), R_OK))
		found.key = key;
	*out = found;
	return true;
}

/* Copies [at, end) with the kernel's help where the file systems allow, else by hand. */
static bool range_copy(int from, int to, off_t at, off_t end)
{
	static char chunk[1 << 18];

	while (at < end) {
		off_t in = at, out = at;
		ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - at), 0);

		if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP ||
				     errno == ENOSYS)) {
			size_t want = end - at < (off_t)sizeof(chunk) ? (size_t)(end - at)
								      : sizeof(chunk);

			n = pread(from, chunk, want, at);
			if (n > 0)
				n = pwrite(to, chunk, (size_t)n, at);
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
	}
	return true;
}

static bool sparse_copy(int from, int to)
{
	struct stat st;
	off_t at = 0;

	if (fstat(from, &st) || ftruncate(to, st.st_size))
		return false;
	while (at < st.st_size) {
		off_t data = lseek(from, at, SEEK_DATA), hole;

		if (data < 0)
			return errno == ENXIO; /* a hole to the end */
		hole = lseek(from, data, SEEK_HOLE);
		if (hole < 0 || !range_copy(from, to, data, hole))
			return false;
		at = hole;
	}
	return true;
}

bool disk_copy(const char *from, int fd, struct err *err)
{
	CLEANUP(fd) int in = open(from, O_RDONLY | O_CLOEXEC);

	if (in < 0 || !sparse_copy(in, fd))
		return err_errno(err, ERR_INTERNAL, "disk: copy %s", from);
	return true;
}

bool template_load(struct template *tpl, struct err *err)
{
	char path[4096];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/mem", tpl->dir) >= (int)sizeof(path))
		return err_set(err, ERR_INTERNAL, "template: path too long");
	CLEANUP(fd) int in = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(fd) int memfd = memfd_create("asb-template", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (in < 0 || memfd < 0 || fstat(in, &st))
		return err_errno(err, ERR_INTERNAL, "template %s: memory", tpl->key);
	if (st.st_size != tpl->memory_bytes)
		return err_set(err, ERR_INTERNAL, "template %s: memory of a wrong size", tpl->key);
	if (!sparse_copy(in, memfd))
		return err_errno(err, ERR_BUSY, "template %s: copy of the memory", tpl->key);
	if (fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		return err_errno(err, ERR_INTERNAL, "template %s: seal", tpl->key);
	tpl->mem_fd = STEAL_FD(memfd);
	return true;
}

bool template_open_state(const struct template *tpl, int *out, struct err *err)
{
	int fd = open(tpl->state, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(err, ERR_INTERNAL, "template %s: device state", tpl->key);
	*out = fd;
	return true;
}
