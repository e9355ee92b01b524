/*
 * PID 1 of the initramfs. What the image and QEMU must offer:
 *
 *	initramfs   /init, asb-boxd itself (static); /modules, one path a line, in load order, of
 *	            .ko files there (empty or absent where the kernel has all built in); /asb-ask
 *	            for /usr/local/bin/asb-ask of the box, /asb-hook for
 *	            /usr/local/lib/asb/hook; empty folders are made here
 *	QEMU        virtio-blk, root image, ext4, read-only: by default /dev/vda;
 *	            virtio-blk, writable disk, ext4 made on the host: by default /dev/vdb;
 *	            virtserialport,name=asb: the channel
 *	cmdline     asb.root=X asb.disk=Y, each a virtio-blk serial (serial=asb-root) or a path
 *	            that begins with /dev/; asb.disk=none: a tmpfs instead;
 *	            init_on_free=1 panic=-1 quiet, console=ttyS0 (boxd's last words go there)
 *
 * The box's / is an overlay: upper and work folders on the writable disk (/upper, /work), the image
 * below. /tmp, /run and /dev/shm are tmpfs. The image needs no init, no udev and no fstab.
 */
#include "boot.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "cleanup.h"
#include "text.h"

/* For a device to appear after its module was loaded. TCG under load takes seconds. */
#define DEVICE_MS 20000
#define LOOK_US 5000

struct mount_row {
	const char *what, *where, *type;
	unsigned long flags;
	const char *data;
};

static bool file_read(const char *path, struct buf *out)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	char *to;

	while (fd >= 0 && (to = buf_room(out, 4096)) && (n = read(fd, to, 4096)) > 0)
		buf_grew(out, (size_t)n);
	return fd >= 0;
}

static bool mount_rows(const struct mount_row *rows, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		(void)mkdir(rows[i].where, 0755);
		if (mount(rows[i].what, rows[i].where, rows[i].type, rows[i].flags, rows[i].data) &&
			errno != EBUSY)
			return err_errno(err, ERR_INTERNAL, "mount %s", rows[i].where);
	}
	return true;
}

static bool module_load(const char *path, struct err *err)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		return err_errno(err, ERR_INTERNAL, "load module %s", path);
	return true;
}

static bool modules_load(struct err *err)
{
	CLEANUP(buf) struct buf list = BUF_INIT(1 << 16);
	char *line, *end;

	if (!file_read("/modules", &list))
		return true;
	for (line = list.data; *line; line = end + 1) {
		end = strchrnul(line, '\n');
		if (!*end)
			return *line ? module_load(line, err) : true;
		*end = '\0';
		if (*line && !module_load(line, err))
			return false;
	}
	return true;
}

/* The value of key=value on the kernel's command line. */
static void cmdline_get(const char *key, const char *absent, char *out, size_t size)
{
	CLEANUP(buf) struct buf line = BUF_INIT(1 << 16);
	size_t n = strlen(key), len;
	char *p;

	(void)snprintf(out, size, "%s", absent);
	(void)file_read("/proc/cmdline", &line);
	for (p = line.data; *p; p += *p ? 1 : 0) {
		len = strcspn(p, " \n");
		if (len > n && len - n - 1 < size && memcmp(p, key, n) == 0 && p[n] == '=') {
			memcpy(out, p + n + 1, len - n - 1);
			out[len - n - 1] = '\0';
		}
		p += len;
	}
}

/* Finds the disk with this serial, or takes a path as it is; false: not there yet. */
static bool device_find(const char *name, char *out, size_t size)
{
	DIR *dir;
	struct dirent *d;
	bool found = false;

	if (text_has_prefix(name, "/dev/")) {
		(void)snprintf(out, size, "%s", name);
		return access(name, F_OK) == 0;
	}
	dir = opendir("/sys/block");
	while (dir && !found && (d = readdir(dir))) {
		CLEANUP(buf) struct buf serial = BUF_INIT(4096);
		char path[300];

		(void)snprintf(path, sizeof(path), "/sys/block/%s/serial", d->d_name);
		(void)file_read(path, &serial);
		serial.data[strcspn(serial.data, "\n")] = '\0';
		(void)snprintf(out, size, "/dev/%s", d->d_name);
		found = strcmp(serial.data, name) == 0 && access(out, F_OK) == 0;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

static bool device_wait(const char *name, char *out, size_t size, struct err *err)
{
	int64_t until = time_boot_ms() + DEVICE_MS;

	while (!device_find(name, out, size)) {
		if (time_boot_ms() > until)
			return err_set(err, ERR_TIMEOUT, "no disk %s", name);
		(void)usleep(LOOK_US);
	}
	return true;
}

static bool root_mount(struct err *err)
{
	char name[64], root[300], disk[300];

	cmdline_get("asb.root", "/dev/vda", name, sizeof(name));
	if (!device_wait(name, root, sizeof(root), err))
		return false;
	cmdline_get("asb.disk", "/dev/vdb", name, sizeof(name));
	(void)mkdir("/image", 0755);
	(void)mkdir("/disk", 0755);
	(void)mkdir("/box", 0755);
	if (mount(root, "/image", "ext4", MS_RDONLY | MS_NOATIME, NULL))
		return err_errno(err, ERR_INTERNAL, "mount the image %s", root);
	if (strcmp(name, "none") == 0) {
		if (mount("tmpfs", "/disk", "tmpfs", MS_NOATIME, NULL))
			return err_errno(err, ERR_INTERNAL, "mount a tmpfs as disk");
	} else {
		if (!device_wait(name, disk, sizeof(disk), err))
			return false;
		if (mount(disk, "/disk", "ext4", MS_NOATIME, NULL))
			return err_errno(err, ERR_INTERNAL, "mount the disk %s", disk);
	}
	(void)mkdir("/disk/upper", 0755);
	(void)mkdir("/disk/work", 0755);
	if (mount("overlay", "/box", "overlay", MS_NOATIME,
		    "lowerdir=/image,upperdir=/disk/upper,workdir=/disk/work"))
		return err_errno(err, ERR_INTERNAL, "mount the overlay");
	return true;
}

/* A small static program out of the initramfs into the box. */
static bool program_copy(const char *from, const char *to, struct err *err)
{
	CLEANUP(buf) struct buf bytes = BUF_INIT(16 << 20);
	CLEANUP(fd) int fd = -1;

	if (!file_read(from, &bytes))
		return true;
	(void)unlink(to);
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0 || fchmod(fd, 0755) || write(fd, bytes.data, bytes.len) != (ssize_t)bytes.len)
		return err_errno(err, ERR_INTERNAL, "copy %s", from);
	return true;
}

/* Moves the three kernel file systems along and makes /box the root. The initramfs stays below,
 * out of everybody's sight. */
static bool root_switch(struct err *err)
{
	static const char *const kept[][2] = {
		{"/proc", "/box/proc"}, {"/sys", "/box/sys"}, {"/dev", "/box/dev"}};

	for (size_t i = 0; i < 3; i++) {
		(void)mkdir(kept[i][1], 0755);
		if (mount(kept[i][0], kept[i][1], NULL, MS_MOVE, NULL))
			return err_errno(err, ERR_INTERNAL, "move %s", kept[i][0]);
	}
	if (chdir("/box") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		return err_errno(err, ERR_INTERNAL, "switch root");
	return true;
}

static void loopback_up(void)
{
	CLEANUP(fd) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq rq = {.ifr_name = "lo"};

	rq.ifr_flags = IFF_UP;
	if (fd >= 0)
		(void)ioctl(fd, SIOCSIFFLAGS, &rq);
}

/* Folders the run's programs expect, with their owners. */
static void boot_folders(void)
{
	static const struct {
		const char *path;
		mode_t mode;
		uid_t uid;
	} rows[] = {
		{"/workspace", 0755, UID_AGENT},
		{"/artifacts", 0755, UID_AGENT},
		{"/home", 0755, 0},
		{"/home/agent", 0755, UID_AGENT},
		{"/home/ask", 0700, UID_ASK},
		{"/var/lib/asb", 0700, UID_GIT},
		{"/var/lib/asb/base", 0700, UID_GIT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)mkdir(rows[i].path, rows[i].mode);
		(void)chmod(rows[i].path, rows[i].mode);
		(void)!chown(rows[i].path, rows[i].uid, rows[i].uid);
	}
}

/* /sys as it was mounted shows the network of who mounted it. Only this folder of it is replaced,
 * since cgroups are mounted below. */
static void net_folder_renew(void)
{
	static const char fresh[] = "/run/asb-sys";

	(void)mkdir(fresh, 0700);
	if (!mount("sysfs", fresh, "sysfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)) {
		(void)mount("/run/asb-sys/class/net", "/sys/class/net", NULL, MS_BIND, NULL);
		(void)umount2(fresh, MNT_DETACH);
	}
	(void)rmdir(fresh);
}

/* An engine has made the machine, or most of it: one whose boxes get a network of their own from
 * unshare (microsandbox) leaves the loopback to us. Who may not do this does not need it. */
void boot_container(void)
{
	boot_folders();
	net_folder_renew();
	loopback_up();
}

/* What WELCOME renews lies on a tmpfs under what programs read: to copy files up into the overlay
 * costs a fresh clone 80 ms under emulation. */
static bool names_mount(struct err *err)
{
	static const char *const rows[][2] = {
		{NAMES_DIR "/machine-id", "/etc/machine-id"},
		{NAMES_DIR "/hostname", "/etc/hostname"},
		{NAMES_DIR "/hosts", "/etc/hosts"},
		{NAMES_DIR "/resolv.conf", "/etc/resolv.conf"},
		{NAMES_DIR "/boot_id", BOOT_ID_FILE},
	};

	(void)mkdir(NAMES_DIR, 0755);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(buf) struct buf now = BUF_INIT(1 << 16);
		CLEANUP(fd) int at = open(rows[i][1], O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
		CLEANUP(fd) int fd = open(rows[i][0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		(void)file_read(rows[i][1], &now);
		if (at < 0 || fd < 0 || fchmod(fd, 0644) ||
			write(fd, now.data, now.len) != (ssize_t)now.len ||
			mount(rows[i][0], rows[i][1], NULL, MS_BIND, NULL))
			return err_errno(err, ERR_INTERNAL, "names: %s", rows[i][1]);
	}
	return true;
}

bool boot_machine(struct err *err)
{
	static const struct mount_row early[] = {
		{"proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
		{"sys", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
		{"dev", "/dev", "devtmpfs", MS_NOSUID, "mode=0755"},
	};
	static const struct mount_row late[] = {
		{"pts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
			"mode=0620,ptmxmode=0666,gid=5"},
		{"shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"},
		{"run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"},
		{"tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"},
		{"cgroup", "/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
	};

	(void)umask(0);
	if (!mount_rows(early, 3, err) || !modules_load(err) || !root_mount(err))
		return false;
	(void)mkdir("/box/usr/local/bin", 0755);
	(void)mkdir("/box/usr/local/lib", 0755);
	(void)mkdir("/box/usr/local/lib/asb", 0755);
	if (!program_copy("/asb-ask", "/box/usr/local/bin/asb-ask", err) ||
		!program_copy("/asb-hook", "/box/usr/local/lib/asb/hook", err) ||
		!root_switch(err) || !mount_rows(late, 5, err) || !names_mount(err))
		return false;
	(void)!symlink("/proc/self/fd", "/dev/fd");
	(void)!symlink("/proc/self/fd/0", "/dev/stdin");
	(void)!symlink("/proc/self/fd/1", "/dev/stdout");
	(void)!symlink("/proc/self/fd/2", "/dev/stderr");
	loopback_up();
	boot_folders();
	(void)umask(022);
	return true;
}

int boot_channel(struct err *err)
{
	int64_t until = time_boot_ms() + DEVICE_MS;
	int fd = -1;

	for (;;) {
		DIR *dir = opendir("/sys/class/virtio-ports");
		struct dirent *d;

		while (dir && fd < 0 && (d = readdir(dir))) {
			CLEANUP(buf) struct buf name = BUF_INIT(4096);
			char path[300];

			(void)snprintf(
				path, sizeof(path), "/sys/class/virtio-ports/%s/name", d->d_name);
			(void)file_read(path, &name);
			if (strcmp(name.data, "asb\n") != 0)
				continue;
			(void)snprintf(path, sizeof(path), "/dev/%s", d->d_name);
			(void)chmod(path, 0600);
			fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		}
		if (dir)
			(void)closedir(dir);
		if (fd >= 0)
			return fd;
		if (time_boot_ms() > until) {
			(void)err_set(err, ERR_TIMEOUT, "no virtio port named asb");
			return -1;
		}
		(void)usleep(LOOK_US);
	}
}
