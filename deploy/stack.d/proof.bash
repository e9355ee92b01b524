# shellcheck shell=bash
# Leaving nothing: what still belongs to the site, found by its marker in command lines, its programs,
# its folders and its uids; first ended, then proved gone.

# pids of the site, one a line; never this script, what it runs or who called it
proof_pids() {
	local mine=" $BASHPID " p=$$ lines=(/proc/[0-9]*/cmdline)
	while [ "${p:-0}" -gt 1 ]; do
		mine+="$p "
		p=$(awk '/^PPid:/ { print $2 }' "/proc/$p/status" 2>/dev/null || true)
	done
	{
		# patterns on stdin, since grep's own command line is looked at too
		printf '%s\n' "asb-$SITE" "$STATE/" "$RUN/" |
			grep -F -l -z -f - -- "${lines[@]}" 2>/dev/null | cut -d / -f 3
		find /proc -maxdepth 2 \( -name exe -o -name cwd \) -printf '%h %l\n' 2>/dev/null |
			awk -v a="$STATE" -v b="$RUN" 'index($2, a "/") == 1 || $2 == a || index($2, b "/") == 1 {
				sub("/proc/", "", $1); print $1 }'
		[ "$UID_BASE" = 0 ] || stat -c '%u %n' /proc/[0-9]* 2>/dev/null |
			awk -v lo="$UID_BASE" '$1 >= lo && $1 < lo + 256 { sub("/proc/", "", $2); print $2 }'
	} | sort -un | while read -r p; do
		case $mine in *" $p "*) continue ;; esac
		# the dead that nobody has waited for yet are gone
		[ "$(awk '/^State:/ { print $2 }' "/proc/$p/status" 2>/dev/null)" != Z ] || continue
		[ -e "/proc/$p" ] && echo "$p"
	done
}

# The site's containers, "ENGINE ID" a line. Where it never had one no engine is asked.
proof_containers() {
	local engine
	[ -d "$STATE/container" ] || return 0
	container_engines | while read -r engine; do
		timeout 30 "$engine" ps -aq --filter "label=asb.site=$SITE" | sed "s/^/$engine /"
	done
}

# Ends what the supervisor did not: boxes, and programs that outlived a killed supervisor.
proof_sweep() {
	local signal pids point i
	for signal in TERM KILL; do
		pids=$(proof_pids || true)
		[ -n "$pids" ] || break
		# shellcheck disable=SC2086 # a list of numbers
		kill -"$signal" $pids 2>/dev/null || true
		for i in $(seq 30); do
			: "$i"
			[ -n "$(proof_pids || true)" ] || break
			sleep 0.1
		done
	done
	proof_containers | while read -r engine id; do
		timeout 60 "$engine" rm -f "$id" >/dev/null 2>&1 </dev/null || true
	done
	while read -r point; do
		umount "$point" 2>/dev/null || umount -l "$point" 2>/dev/null || true
	done < <(proof_mounts | sort -r)
	if [ -n "${PG_SHM:-}" ] && awk -v id="$PG_SHM" '$2 == id { f = 1 } END { exit !f }' /proc/sysvipc/shm; then
		ipcrm -m "$PG_SHM" 2>/dev/null || true
	fi
	if [ "$UID_BASE" != 0 ]; then
		find /dev/shm -uid +$((UID_BASE - 1)) -uid -$((UID_BASE + 256)) -delete 2>/dev/null || true
	fi
}

proof_mounts() {
	awk -v a="$STATE" -v b="$RUN" 'index($5, a "/") == 1 || index($5, b "/") == 1 || $5 == a || $5 == b {
		print $5 }' /proc/self/mountinfo
}

# Prints what is left, a line each; false where there is something.
proof_left() {
	local left
	left=$(
		proof_pids | while read -r p; do
			echo "process $p: $(tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null | cut -c 1-120)"
		done
		proof_containers | sed 's/^/container /'
		proof_mounts | sed 's/^/mount /'
		awk -v b="$RUN/" -v s="asb-$SITE" 'index($8, b) == 1 || index($8, s) { print "socket " $8 }' /proc/net/unix
		[ "$PORT" = 0 ] || [ -z "$(ss -Hltn "sport = :$PORT")" ] || echo "socket 127.0.0.1:$PORT"
		if [ -n "${PG_SHM:-}" ]; then
			awk -v id="$PG_SHM" '$2 == id { print "shared memory " id }' /proc/sysvipc/shm
		fi
		if [ "$UID_BASE" != 0 ]; then
			awk -v lo="$UID_BASE" '$8 >= lo && $8 < lo + 256 { print "shared memory " $2 }' /proc/sysvipc/shm
			find /dev/shm -uid +$((UID_BASE - 1)) -uid -$((UID_BASE + 256)) -printf 'shared memory %p\n'
		fi
		[ ! -e "$RUN" ] || echo "folder $RUN"
	)
	[ -z "$left" ] || {
		echo "$left" >&2
		return 1
	}
}
