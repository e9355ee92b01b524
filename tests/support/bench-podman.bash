# shellcheck shell=bash
# Sourced by benchmarks whose peer is podman: an image of the site's own root, in a store that goes with the
# script. Sets PODMAN to the command, or to nothing where there is no podman or we are not root.

# podman_open IMAGE: imports the root of the box image as localhost/asb-bench
podman_open() {
	local image
	PODMAN=()
	BENCH_TMP=$(mktemp -d)
	trap podman_close EXIT
	[ "$(id -u)" = 0 ] && command -v podman >/dev/null || return 0
	image=$(workers/box/images/build "$1" "$ASB_CACHE_DIR" build/box)
	# a realtime process (`chrt -r 20 make bench ...` on a machine that is not idle) may not enter podman's cgroup
	PODMAN=(/usr/bin/chrt -o 0 /usr/bin/podman --root "$BENCH_TMP/storage" --runroot "$BENCH_TMP/run"
		--storage-driver overlay --runtime runc --cgroup-manager cgroupfs)
	mkdir "$BENCH_TMP/root"
	/usr/sbin/debugfs -R "rdump / $BENCH_TMP/root" "$image/root.img" >/dev/null 2>&1
	tar -C "$BENCH_TMP/root" -cf "$BENCH_TMP/root.tar" .
	"${PODMAN[@]}" import "$BENCH_TMP/root.tar" asb-bench >/dev/null 2>&1
	rm -rf "$BENCH_TMP/root" "$BENCH_TMP/root.tar"
}

# what a sandbox has, asked of podman
# shellcheck disable=SC2034
PODMAN_LIMITS=(--network none --memory 1g --pids-limit 512 --ulimit nofile=1024:1024 --ulimit nproc=1000:1000)

podman_close() {
	if [ -d "$BENCH_TMP/storage" ]; then
		"${PODMAN[@]}" rm -fa >/dev/null 2>&1 || true
		"${PODMAN[@]}" rmi -fa >/dev/null 2>&1 || true
		umount "$BENCH_TMP/storage/overlay" 2>/dev/null || true
	fi
	rm -rf "$BENCH_TMP"
}
