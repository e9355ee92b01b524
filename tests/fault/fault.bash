# shellcheck shell=bash
# What the fault scripts share, on top of tests/support/script.bash: a workload whose log is known byte for
# byte, arming of kill-points, killing programs of this site, and the invariants afterwards.
# shellcheck source=tests/support/script.bash
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.bash"

# Times are for an idle machine; SLOW=4 gives all of them four times as long.
wait_for() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * ${SLOW:-1} * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
		sleep 0.2
	done
}
# workload LINES: numbered lines, about 20 a second, then one file
workload() { echo "for i in \$(seq $1); do echo \"line \$i of the work, with some text to fill it\"; sleep 0.04; done; echo kept >/artifacts/result"; }
work_log() { for i in $(seq "$1"); do echo "line $i of the work, with some text to fill it"; done; }

json_text() { node -e 'process.stdout.write(JSON.stringify(process.argv[1]))' "$1"; }
# delegate TASK: the new run's name. Those that were acknowledged are remembered for I1.
delegate() {
	local name
	api POST /delegate.json "{\"task\":$(json_text "$1"),\"agent\":\"script\"}" >"$work/delegated"
	name=$(member "$(cat "$work/delegated")" session)
	[[ $(cat "$work/status") != 2* ]] || echo "$name" >>"$work/acknowledged"
	echo "$name"
}
run_is() { # run_is RUN STATE|STATE...
	local state
	state=$(sql "SELECT state FROM runs WHERE name = '$1'")
	[[ "|$2|" == *"|$state|"* ]]
}
run_ended() { run_is "$1" 'done|failed|stopped|lost'; }
lines_of() {
	sql "SELECT coalesce(sum(nlines), 0) FROM log_chunk c JOIN logs l ON l.id = c.log_id JOIN runs r ON r.id = l.run_id
		WHERE r.name = '$1' AND l.exec_id IS NULL"
}
sql_is() { [ "$(sql "$1")" = "$2" ]; }
lines_seen() { [ "$(lines_of "$1")" -ge "$2" ]; } # at least N lines of RUN's log are committed
box_of() { sql "SELECT b.name FROM runs r JOIN boxes b ON b.id = r.box_id WHERE r.name = '$1'"; }
box_is() { # box_is RUN STATE|STATE...
	local state
	state=$(sql "SELECT b.state FROM runs r JOIN boxes b ON b.id = r.box_id WHERE r.name = '$1'")
	[[ "|$2|" == *"|$state|"* ]]
}
epoch_of() { sql "SELECT j.epoch FROM jobs j JOIN runs r ON r.id = j.run_id WHERE r.name = '$1' AND j.kind = 'turn'"; }
outcome() { sql "SELECT state || ' ' || coalesce(reason, '-') || ' ' || coalesce(exit_code::text, '-') FROM runs WHERE name = '$1'"; }
# The log as the box wrote it, stdout and stderr in order.
log_bytes() {
	sql "SELECT encode(c.body, 'hex') FROM log_chunk c JOIN logs l ON l.id = c.log_id JOIN runs r ON r.id = l.run_id
		WHERE r.name = '$1' AND l.exec_id IS NULL ORDER BY c.seq" | tr -d '\n' | xxd -r -p
}
whole_log() { cmp <(log_bytes "$1") <(work_log "$2"); } # whole_log RUN LINES
prefix_log() {                                          # what is stored is a beginning of what the work writes
	local n
	n=$(log_bytes "$1" | wc -c)
	cmp <(log_bytes "$1") <(work_log "$2" | head -c "$n")
}

arm() { install -m 0666 /dev/null "$ASB_FAULT_DIR/$1"; }
fired() { [ ! -e "$ASB_FAULT_DIR/$1" ]; }
all_fired() {
	local left
	left=$(ls "$ASB_FAULT_DIR")
	[ -z "$left" ] && return
	echo "not reached: $left"
	return 1
}

pids_of() { pgrep -f "^$ASB_LIB_DIR/(bin/)?asb-$1( |\$)" || true; }
kill_pids() { # kill_pids SIGNAL PID...
	local signal=$1
	shift
	[ $# -gt 0 ] || return 1
	kill "-$signal" "$@" 2>/dev/null || true
}
# The shim is called asb-SITE-BOX; QEMU carries the same as its -name.
shim_of() { pgrep -f "^asb-$ASB_SITE-$1( |\$)" || true; }
qemu_of() { pgrep -f "^[^ ]*qemu-system.* -name [^ ]*asb-$ASB_SITE-$1" || true; }
no_process_of() { [ -z "$(shim_of "$1")$(qemu_of "$1")" ]; }

invariants() {
	local found
	found=$(sed "s/:settle/${SETTLE:-10}/g" "$repo/tests/fault/invariants.sql" | "$repo/deploy/stack" psql -At -F ': ' -f -) ||
		return 1
	[ -z "$found" ] && return
	echo "$found"
	return 1
}
# I1: whatever was acknowledged is there, once
acknowledged_are_there() {
	local list
	[ -s "$work/acknowledged" ] || return 0
	list=$(sed "s/.*/'&'/" "$work/acknowledged" | paste -sd ,)
	[ "$(sql "SELECT count(*) FROM runs WHERE name IN ($list)")" = "$(wc -l <"$work/acknowledged")" ]
}
# boxes that have processes: every process with the site's marker, by the box's name
marked_boxes() {
	local pid
	for pid in $(pgrep -f "asb-$ASB_SITE-box-" || true); do
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -o 'box-[a-z2-7]\{16\}' | head -n 1
	done | sort -u
}
# No process without a live row, no ready box without its processes.
rows_match_processes() {
	local wrong
	marked_boxes >"$work/marked"
	sql "SELECT name FROM boxes WHERE state NOT IN ('gone', 'failed')" | sort >"$work/live" || return 1
	sql "SELECT name FROM boxes WHERE state = 'ready'" | sort >"$work/ready" || return 1
	wrong=$(
		comm -23 "$work/marked" "$work/live" | sed 's/$/ has processes and no live row/'
		comm -13 "$work/marked" "$work/ready" | sed 's/$/ is ready without processes/'
	)
	[ -z "$wrong" ] && return
	echo "$wrong"
	return 1
}
# I2: what has ended, as it ended; all of an earlier list is in every later one
ended_rows() {
	sql "SELECT concat_ws(' ', 'run', name, state, reason, exit_code, finished_at) FROM runs
			WHERE state IN ('done', 'failed', 'stopped', 'lost')
		UNION ALL SELECT concat_ws(' ', 'turn', r.name, t.n, t.state, t.reason, t.exit_code, t.finished_at)
		FROM turns t JOIN runs r ON r.id = t.run_id
			WHERE t.state IN ('asked', 'done', 'failed', 'stopped', 'lost')
		UNION ALL SELECT concat_ws(' ', 'exec', name, state, exit_code, finished_at) FROM execs
			WHERE finished_at IS NOT NULL" | sort
}
what_ended_is_as_it_was() {
	ended_rows >"$work/ended.now" || return 1
	touch "$work/ended"
	local changed
	changed=$(comm -23 "$work/ended" "$work/ended.now")
	mv "$work/ended.now" "$work/ended"
	[ -z "$changed" ] && return
	echo "$changed"
	return 1
}
# after CASE: the invariants hold, at the latest after 15 s
after() {
	check "$1: rows and processes agree" holds_within 15 rows_match_processes
	check "$1: invariants" holds_within 15 invariants
	check "$1: what was acknowledged is there" acknowledged_are_there
	check "$1: what had ended is as it was" what_ended_is_as_it_was
}
holds_within() { # as wait_for, but says what was wrong last
	wait_for "$@" || "${@:2}"
}
teardown() {
	api POST /teardown.json "{\"session\":\"$1\"}" >/dev/null
	wait_for 40 box_is "$1" 'gone|failed'
}
# I9: nothing of any box is left: no process of the slots' uids, no folder, no mount
nothing_left() {
	local left
	left=$(
		ls -d "$ASB_STATE_DIR"/box/box-* "$ASB_RUN_DIR"/box/box-* 2>/dev/null
		pgrep -af "asb-$ASB_SITE-box-"
		[ "$ASB_UID_BASE" = 0 ] || pgrep -a -U "$(seq -s , $((ASB_UID_BASE + 16)) $((ASB_UID_BASE + 255)))"
		grep -F "$ASB_RUN_DIR/box" /proc/self/mountinfo
		sql "SELECT name || ' holds slot ' || slot FROM boxes WHERE state NOT IN ('gone', 'failed')"
	)
	[ -z "$left" ] && return
	echo "$left"
	return 1
}

# --- I9: descriptors and connections, when nothing is under way ---
# program and count, a line each: the most descriptors of any of its processes, its PostgreSQL connections
holdings() {
	local program pid n most
	for program in worker runner spawn web live gate; do
		most=0
		for pid in $(pids_of "$program"); do
			n=$(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)
			[ "$n" -le "$most" ] || most=$n
		done
		echo "descriptors of asb-$program $most"
	done
	sql "SELECT 'connections of ' || usename || ' ' || count(*) FROM pg_stat_activity WHERE usename LIKE 'asb\_%' GROUP BY usename"
}
# What an idle site holds once all of it has been used: the measure of what is left later.
holdings_note() {
	local run i
	run=$(delegate 'echo warm')
	wait_for 60 run_ended "$run"
	teardown "$run"
	# every child of asb-web has had a request
	for i in $(seq 40); do
		: "$i"
		curl -s -o /dev/null -H "@$work/auth" "$ASB_URL/fleet.json" &
	done
	wait
	wait_for 15 sql_is "SELECT count(*) FROM jobs" 0
	sleep 2
	holdings >"$work/holdings"
}
holds_no_more() {
	local more
	more=$(holdings | awk 'NR == FNR { n = $NF; $NF = ""; had[$0] = n; next }
		{ n = $NF; $NF = ""; if (n > had[$0] + 0) print $0 "was " had[$0] + 0 ", is " n }' "$work/holdings" -)
	[ -z "$more" ] && return
	echo "$more"
	return 1
}
# leaks CASE: with nothing under way the site holds what it held
leaks() { check "$1: no descriptor and no connection more" holds_within 20 holds_no_more; }
