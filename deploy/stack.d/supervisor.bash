# shellcheck shell=bash
# The supervisor: a tree of s6's of the site's own, detached, with RUN/programs as its folder. s6-svscan starts an
# s6-supervise for each program and one for its log's s6-log, and holds the pipe between both, so that nothing is lost
# when either dies. Whoever is killed is started again after a second, for ever.
# What is in the tree is defined by programs.bash.

TREE=$RUN/programs
BEGUN=0

supervisor_is_up() { s6-svscanctl -z "$TREE" 2>/dev/null; }

# Runs as a process of its own, which becomes s6-svscan: with no descriptor of the caller's but stdout, told by a line
# that it listens; with the variables that engines and sanitizers want, and no other.
supervisor_run() {
	local name limit kept=(PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin)
	for name in DOCKER_HOST MSB_HOME ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS; do
		[ -z "${!name:-}" ] || kept+=("$name=${!name}")
	done
	for name in /proc/"$BASHPID"/fd/*; do
		name=${name##*/}
		[ "$name" -le 2 ] || [ "$name" = 255 ] || exec {name}>&-
	done
	# nginx and asb-live hold thousands of streams: as many descriptors as may be had without asking
	limit=$(ulimit -Hn)
	{ [ "$limit" != unlimited ] && [ "$limit" -lt 65536 ]; } || limit=65536
	ulimit -Sn "$limit"
	umask 007
	cd /
	exec setsid env -i "${kept[@]}" s6-svscan -c 32 -d 3 "$TREE" 3>&1 </dev/null >>"$STATE/logs/supervisor.log" 2>&1
}

supervisor_start() {
	nginx_conf
	database_settings
	programs_define
	if supervisor_is_up; then
		[ "$DEFINED" = 0 ] || supervisor_redefine
		program_start postgres
		return
	fi
	# what a supervisor that was killed left behind
	proof_sweep
	rm -rf "$TREE"
	cp -r "$STATE/conf/programs" "$TREE"
	chmod 0700 "$TREE"
	database_make
	[ ! -f "$STATE/logs/supervisor.log" ] || mv "$STATE/logs/supervisor.log" "$STATE/logs/supervisor.log.1"
	read -r -t 30 _ < <(supervisor_run) || {
		tail -n 5 "$STATE/logs/supervisor.log" >&2
		fail "the supervisor does not start"
	}
	# shellcheck disable=SC2034 # there is nothing to restart then
	BEGUN=1
}

# What is new in conf/programs, in the tree that runs: the boxes are not touched.
supervisor_redefine() {
	local dir
	for dir in "$TREE"/*; do
		[ ! -d "$STATE/conf/programs/${dir##*/}" ] || continue
		program_stop "${dir##*/}"
		rm -rf "$dir"
	done
	cmp -s "$STATE/conf/programs/postgres/run" "$TREE/postgres/run" || program_stop postgres
	cp -r --remove-destination "$STATE/conf/programs/." "$TREE"
	s6-svscanctl -an "$TREE"
	changed
}

# Programs first, each as it wants to be stopped; then the tree, whose loggers end with the last that writes to them.
# A box is one that does: the sweep that follows ends it.
supervisor_stop() {
	local name
	# shellcheck disable=SC2034 # proof.bash looks for it
	PG_SHM=$(awk 'NR == 7 { print $2 }' "$STATE/pg/postmaster.pid" 2>/dev/null || true)
	supervisord_end
	supervisor_is_up || return 0
	for name in "${PROGRAMS_STOPPED[@]}" postgres; do program_stop "$name"; done
	s6-svscanctl -t "$TREE"
}

# A site that an older checkout started has supervisord instead, which ends what it started before itself.
supervisord_end() {
	local pid conf=$STATE/conf/supervisord.conf
	pid=$(cat "$RUN/supervisord.pid" 2>/dev/null) || return 0
	if [[ $pid =~ ^[0-9]+$ ]] && grep -qzxF "$conf" "/proc/$pid/cmdline" 2>/dev/null; then
		kill -TERM "$pid"
		timeout 90 tail -s 0.1 --pid="$pid" -f /dev/null || say "supervisord did not stop within 90 s"
	fi
	rm -f "$RUN"/supervisor{d.pid,.sock} "$conf" "$STATE"/logs/{supervisord,start}.log*
}

# To be started now, and again whenever it or its s6-supervise dies.
program_start() {
	local end=$((SECONDS + 10))
	[ -d "$TREE/$1" ] || return 0
	# an s6-supervise comes up a moment after s6-svscan
	until s6-svc -U "$TREE/$1" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] || fail "s6-supervise of $1 does not start"
		sleep 0.02
	done
}

# Returns when it is gone, or was killed because its time was over.
program_stop() {
	[ -d "$TREE/$1" ] || return 0
	s6-svc -wD -T "$(($(cat "$TREE/$1/timeout-kill") + 5000))" -D "$TREE/$1" || say "$1 did not stop"
}

programs_status() {
	local name
	for name in postgres "${PROGRAMS_STARTED[@]}"; do
		[ ! -d "$TREE/$name" ] || echo "$name: $(s6-svstat "$TREE/$name")"
	done
}
