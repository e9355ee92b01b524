# shellcheck shell=bash
# The site's programs: copied, described to the supervisor, started and watched until they answer.

repo=${repo:?}

# What runs is older than what lies there, until an `up` has started it: one that failed on the way is made good by the
# next. Said before the thing is changed.
changed() { : >"$RUN/changed"; }

# copy FROM TO: a new file in the old one's place only where they differ
copy() {
	cmp -s "$1" "$2" && return
	install -m "$(stat -c %a "$1")" "$1" "$2.new"
	changed
	mv "$2.new" "$2"
}

programs_copy() {
	local f build=$repo/build/$MODE/bin
	[ -x "$build/asb" ] || fail "build/$MODE/bin/asb is not built: make MODE=$MODE"
	for f in "$build"/*; do
		copy "$f" "$STATE/lib/bin/${f##*/}"
		# the worker starts runners, spawn starts shims: beside their own file and one level up
		ln -sfn "bin/${f##*/}" "$STATE/lib/${f##*/}"
	done
	for f in "$repo"/build/box/asb-*; do
		[ ! -f "$f" ] || copy "$f" "$STATE/lib/box/${f##*/}"
	done
	copy "$repo/workers/box/images/import" "$STATE/lib/box/import"
	copy_folder "$repo/sql"
	copy_folder "$repo/nginx"
	# as it was built, with what it needs of others
	copy_folder "$repo/build/static"
	# asb build's; it works from its true place
	ln -sfn "$repo/deploy/stack" "$STATE/lib/stack"
}

# copy_folder FROM: whole, for what is gone in the clone must be gone here too
copy_folder() {
	local to=$STATE/lib/${1##*/}
	[ -d "$1" ] || return 0
	diff -rq "$1" "$to" >/dev/null 2>&1 && return
	changed
	rm -rf "$to.new" "${to:?}"
	cp -r "$1" "$to.new"
	chmod -R u=rwX,go=rX "$to.new"
	mv "$to.new" "$to"
}

have() { [ -x "$STATE/lib/bin/$1" ]; }

# As they are started; they are stopped as PROGRAMS_STOPPED says: asb-live before nginx, which carries the last
# answer of each wait.
PROGRAMS_STARTED=(spawn gate worker live web nginx rotate)
PROGRAMS_STOPPED=(live nginx rotate web worker gate spawn)

# Adds to `environment` what the program alone has; secrets are named by their files.
program_environment() {
	local secrets=$STATE/secrets more=()
	environment+=("ASB_CONFIG=$STATE/conf/site.conf" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 TZ=UTC)
	case $1 in web | live | worker | gate) environment+=("ASB_DB_PASSFILE=$secrets/asb_$1.pass") ;; esac
	case $1 in
	web | live) environment+=("MCP_HTTP_TOKEN_FILE=$secrets/operator.token") ;;
	gate)
		environment+=("ASB_RECEIPT_KEY_FILE=$secrets/receipt.key" "ASB_SEAL_KEY_FILE=$secrets/seal.key")
		[ ! -f "$secrets/anthropic.key" ] || environment+=("ANTHROPIC_API_KEY_FILE=$secrets/anthropic.key")
		;;
	esac
	[ -z "${ASB_PROGRAM_ENV:-}" ] || mapfile -t more <<<"${ASB_PROGRAM_ENV%$'\n'}"
	environment+=(${more[@]+"${more[@]}"})
}

# run_script FILE COMMAND...: what s6-supervise runs
run_script() {
	local file=$1
	shift
	printf '#!/bin/sh\numask 007\nexec %s 2>&1\n' "${*@Q}" >"$file"
}

# program NAME STOP-SECONDS COMMAND...: its folder for s6-supervise, and that of its logger. nginx writes its logs
# itself, and rotate, which bounds those, says nothing.
program() {
	local name=$1 stop=$2 dir=$STATE/conf/programs.new/$1 folder=$STATE/conf signal=TERM orphan=TERM logger=log
	local who=(setpriv --) environment=()
	shift 2
	case $name in
	postgres) folder=$STATE/pg signal=INT orphan=INT ;;
	nginx) signal=QUIT logger='' ;;
	rotate) logger='' ;;
	esac
	[ "$ROOT" = 0 ] || [ "$name" = spawn ] || become "$name"
	program_environment "$name"
	mkdir -p "$dir/$logger"
	# Who lost its s6-supervise ends; the one that the next s6-supervise starts waits for that at the lock.
	run_script "$dir/run" s6-setlock lock env -C "$folder" "${environment[@]}" \
		"${who[0]}" --pdeathsig "$orphan" "${who[@]:1}" "$@"
	echo "SIG$signal" >"$dir/down-signal"
	echo "${stop}000" >"$dir/timeout-kill"
	[ "$name" = postgres ] || : >"$dir/down"
	[ -n "$logger" ] || return 0
	# -p: it ends with the last that writes to it, whatever it is told
	run_script "$dir/log/run" setpriv --pdeathsig HUP -- s6-log -p -l 65536 n2 s10000000 "$STATE/logs/$name"
	program_log "$name"
}

# logs/NAME.log is what the logger writes to at the time.
program_log() {
	local log=$STATE/logs/$1
	[ ! -L "$log.log" ] || return 0
	mkdir -p "$log"
	# what an older checkout wrote is gone on with
	[ ! -f "$log.log" ] || mv "$log.log" "$log/current"
	rm -f "$log.log".[0-9]*
	ln -s "$1/current" "$log.log"
}

# All of them, in conf/programs; DEFINED where that says something new.
programs_define() {
	local name stop new=$STATE/conf/programs.new
	rm -rf "$new"
	program postgres 60 "$PG_BIN/postgres" -c "config_file=$STATE/conf/postgresql.conf"
	for name in spawn gate worker live web; do
		have "asb-$name" || continue
		stop=10
		[ "$name" != worker ] || stop=15
		program "$name" "$stop" "$STATE/lib/bin/asb-$name"
	done
	if [ -f "$STATE/conf/nginx.conf" ]; then
		program nginx 10 "$STATE/lib/nginx/start" "$RUN/nginx.pid" -e "$STATE/nginx/error.log" -p "$STATE/nginx" -c "$STATE/conf/nginx.conf"
		program rotate 2 "$STATE/lib/nginx/rotate" "$RUN/nginx.pid" "$STATE"/nginx/{access,error}.log
		[ -L "$STATE/logs/nginx.log" ] || {
			rm -f "$STATE"/logs/{nginx,rotate}.log*
			ln -s ../nginx/error.log "$STATE/logs/nginx.log"
		}
	fi
	chmod 755 "$new"/*/run "$new"/*/log/run
	DEFINED=0
	if diff -rq "$new" "$STATE/conf/programs" >/dev/null 2>&1; then
		rm -rf "$new"
		return
	fi
	# shellcheck disable=SC2034 # supervisor.bash brings it into a tree that runs
	DEFINED=1
	rm -rf "$STATE/conf/programs"
	mv "$new" "$STATE/conf/programs"
}

# nginx's templates: @NAME@ becomes this site's value
nginx_conf() {
	[ -f "$STATE/lib/nginx/dev.conf.in" ] || return 0
	door_conf >"$STATE/nginx/door.conf"
	sed -f <(door_sed) -e "s|@PORT@|$PORT|g" -e "s|@URL@|$URL|g" -e "s|@STATE_DIR@|$STATE|g" -e "s|@RUN_DIR@|$RUN|g" \
		-e "s|@LIB_DIR@|$STATE/lib|g" -e "s|@TEMP_DIR@|$STATE/nginx|g" -e "s|@SITE@|$SITE|g" \
		-e "s|^error_log stderr|error_log $STATE/nginx/error.log|" "$STATE/lib/nginx/dev.conf.in" >"$STATE/conf/nginx.conf.new"
	cmp -s "$STATE/conf/nginx.conf.new" "$STATE/conf/nginx.conf" || changed
	mv "$STATE/conf/nginx.conf.new" "$STATE/conf/nginx.conf"
}

programs_up() {
	local name
	if [ -e "$RUN/changed" ] && [ "$BEGUN" = 0 ]; then
		say "programs or settings changed: restarting"
		for name in "${PROGRAMS_STOPPED[@]}"; do program_stop "$name"; done
	fi
	for name in "${PROGRAMS_STARTED[@]}"; do program_start "$name"; done
	if [ ! -f "$STATE/conf/nginx.conf" ] || ! have asb-web || programs_wait; then
		rm -f "$RUN/changed"
		return
	fi
	programs_status >&2
	for name in "${PROGRAMS_STARTED[@]}"; do
		[ ! -s "$STATE/logs/$name.log" ] || { say "$name:"; tail -n 5 "$STATE/logs/$name.log" >&2; }
	done
	fail "the site does not answer at $URL/healthz"
}

# Until the site answers, through nginx and asb-web from its database; 30 s at most
programs_wait() {
	local end=$((SECONDS + 30))
	until [ "$(curl -s -o /dev/null -w '%{http_code}' --max-time 2 -H "Host: ${URL#*://}" "http://127.0.0.1:$PORT/healthz")" = 200 ]; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}
