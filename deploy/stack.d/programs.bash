# shellcheck shell=bash
# The site's programs: copied, put under a supervisor of the site's own, started and watched until
# they answer.

CHANGED=0
repo=${repo:?}

# copy FROM TO: a new file in the old one's place only where they differ
copy() {
	cmp -s "$1" "$2" && return
	install -m "$(stat -c %a "$1")" "$1" "$2.new"
	mv "$2.new" "$2"
	CHANGED=1
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
	rm -rf "$to.new" "${to:?}"
	cp -r "$1" "$to.new"
	chmod -R u=rwX,go=rX "$to.new"
	mv "$to.new" "$to"
	CHANGED=1
}

have() { [ -x "$STATE/lib/bin/$1" ]; }

# program NAME PRIORITY STOP-SECONDS COMMAND...: a section of the supervisor's configuration
program() {
	local name=$1 priority=$2 stop=$3 who environment
	shift 3
	who=()
	if [ "$ROOT" = 1 ] && [ "$name" != spawn ]; then
		mapfile -t who < <(become "$name")
	fi
	environment="ASB_CONFIG=\"$STATE/conf/site.conf\",PATH=\"/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin\",LC_ALL=\"C.UTF-8\",TZ=\"UTC\""
	case $name in
	web | live) environment+=",ASB_DB_PASSFILE=\"$STATE/secrets/asb_$name.pass\",MCP_HTTP_TOKEN_FILE=\"$STATE/secrets/operator.token\"" ;;
	worker) environment+=",ASB_DB_PASSFILE=\"$STATE/secrets/asb_worker.pass\"" ;;
	gate)
		environment+=",ASB_DB_PASSFILE=\"$STATE/secrets/asb_gate.pass\",ASB_RECEIPT_KEY_FILE=\"$STATE/secrets/receipt.key\""
		[ ! -f "$STATE/secrets/anthropic.key" ] ||
			environment+=",ANTHROPIC_API_KEY_FILE=\"$STATE/secrets/anthropic.key\""
		;;
	esac
	[ -z "${ASB_PROGRAM_ENV:-}" ] || environment+=",$ASB_PROGRAM_ENV"
	cat <<-END

		[program:$name]
		command=${who[*]} $*
		environment=$environment
		directory=$([ "$name" = postgres ] && echo "$STATE/pg" || echo "$STATE/conf")
		umask=007
		priority=$priority
		autostart=$([ "$name" = postgres ] && echo true || echo false)
		autorestart=true
		startsecs=1
		startretries=1000000
		stopwaitsecs=$stop
		stopsignal=$([ "$name" = postgres ] && echo INT || { [ "$name" = nginx ] && echo QUIT; } || echo TERM)
		redirect_stderr=true
		stdout_logfile=$STATE/logs/$name.log
		stdout_logfile_maxbytes=10MB
		stdout_logfile_backups=2
	END
}

# nginx and asb-live hold thousands of streams: as many descriptors as may be had without asking
minfds() {
	local hard
	hard=$(ulimit -Hn)
	if [ "$hard" = unlimited ] || [ "$hard" -gt 65536 ]; then
		hard=65536
	fi
	echo "$hard"
}

supervisor_conf() {
	local names=() name
	cat <<-END
		; written by deploy/stack
		[unix_http_server]
		file=$RUN/supervisor.sock
		chmod=0700
		[supervisord]
		nodaemon=false
		identifier=asb-$SITE
		pidfile=$RUN/supervisord.pid
		logfile=$STATE/logs/supervisord.log
		logfile_maxbytes=5MB
		logfile_backups=1
		childlogdir=$STATE/logs
		directory=$STATE/conf
		minfds=$(minfds)
		[rpcinterface:supervisor]
		supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
		[supervisorctl]
		serverurl=unix://$RUN/supervisor.sock
	END
	program postgres 10 60 "$PG_BIN/postgres -c config_file=$STATE/conf/postgresql.conf"
	for name in spawn gate worker live web; do
		have "asb-$name" || continue
		case $name in
		spawn) program spawn 20 10 "$STATE/lib/bin/asb-spawn" ;;
		gate) program gate 30 10 "$STATE/lib/bin/asb-gate" ;;
		worker) program worker 40 15 "$STATE/lib/bin/asb-worker" ;;
		# stopped before nginx is, which carries the last answer of each wait
		live) program live 70 10 "$STATE/lib/bin/asb-live" ;;
		*) program "$name" 50 10 "$STATE/lib/bin/asb-$name" ;;
		esac
		names+=("$name")
	done
	if [ -f "$STATE/conf/nginx.conf" ]; then
		program nginx 60 10 "$STATE/lib/nginx/start $RUN/nginx.pid -e stderr -p $STATE/nginx -c $STATE/conf/nginx.conf"
		program rotate 60 2 "$STATE/lib/nginx/rotate $STATE/nginx/access.log $RUN/nginx.pid"
		names+=(nginx rotate)
	fi
	[ "${#names[@]}" = 0 ] || printf '\n[group:site]\nprograms=%s\n' "$(IFS=, && echo "${names[*]}")"
}

# nginx's templates: @NAME@ becomes this site's value
nginx_conf() {
	[ -f "$STATE/lib/nginx/dev.conf.in" ] || return 0
	door_conf >"$STATE/nginx/door.conf"
	sed -f <(door_sed) -e "s|@PORT@|$PORT|g" -e "s|@URL@|$URL|g" -e "s|@STATE_DIR@|$STATE|g" -e "s|@RUN_DIR@|$RUN|g" \
		-e "s|@LIB_DIR@|$STATE/lib|g" -e "s|@TEMP_DIR@|$STATE/nginx|g" -e "s|@SITE@|$SITE|g" \
		"$STATE/lib/nginx/dev.conf.in" >"$STATE/conf/nginx.conf.new"
	if ! cmp -s "$STATE/conf/nginx.conf.new" "$STATE/conf/nginx.conf"; then
		CHANGED=1
	fi
	mv "$STATE/conf/nginx.conf.new" "$STATE/conf/nginx.conf"
}

supervisor_ctl() { supervisorctl -c "$STATE/conf/supervisord.conf" "$@"; }
supervisor_is_up() {
	[ -S "$RUN/supervisor.sock" ] && [[ $(supervisor_ctl pid 2>/dev/null) =~ ^[0-9]+$ ]]
}

supervisor_start() {
	local i
	nginx_conf
	database_settings
	supervisor_conf >"$STATE/conf/supervisord.conf.new"
	if ! cmp -s "$STATE/conf/supervisord.conf.new" "$STATE/conf/supervisord.conf"; then
		CHANGED=1
	fi
	if supervisor_is_up; then
		mv "$STATE/conf/supervisord.conf.new" "$STATE/conf/supervisord.conf"
		[ "$CHANGED" = 0 ] || supervisor_ctl update >/dev/null
		return
	fi
	mv "$STATE/conf/supervisord.conf.new" "$STATE/conf/supervisord.conf"
	# what a supervisor that was killed left behind
	proof_sweep
	rm -f "$RUN/supervisor.sock" "$RUN/supervisord.pid"
	database_make
	# descriptors 8 and 9 are our locks
	(cd / && without_settings supervisord -c "$STATE/conf/supervisord.conf" 8>&- 9>&- >>"$STATE/logs/supervisord.log" 2>&1) || {
		tail -n 5 "$STATE/logs/supervisord.log" >&2
		fail "the supervisor does not start"
	}
	for i in $(seq 100); do
		: "$i"
		supervisor_is_up && return
		sleep 0.1
	done
	tail -n 20 "$STATE/logs/supervisord.log" >&2
	fail "the supervisor does not start"
}

supervisor_stop() {
	local pid i
	# shellcheck disable=SC2034 # proof.bash looks for it
	PG_SHM=$(awk 'NR == 7 { print $2 }' "$STATE/pg/postmaster.pid" 2>/dev/null || true)
	supervisor_is_up || return 0
	pid=$(supervisor_ctl pid)
	supervisor_ctl shutdown >/dev/null
	for i in $(seq 900); do
		: "$i"
		[ -e "/proc/$pid" ] || return 0
		sleep 0.1
	done
	say "the supervisor did not stop within 90 s"
}

programs_up() {
	local i
	grep -q '^\[group:site\]' "$STATE/conf/supervisord.conf" || return 0
	if [ "$CHANGED" = 1 ] && [[ $(supervisor_ctl status 'site:*') = *RUNNING* ]]; then
		say "programs or settings changed: restarting"
		supervisor_ctl restart 'site:*' >/dev/null
	elif ! supervisor_ctl start 'site:*' >"$STATE/logs/start.log" 2>&1 &&
		grep -v 'already started' "$STATE/logs/start.log" | grep -q ERROR; then
		cat "$STATE/logs/start.log" >&2
	fi
	[ -f "$STATE/conf/nginx.conf" ] && have asb-web || return 0
	for i in $(seq 150); do
		: "$i"
		[ "$(curl -s -o /dev/null -w '%{http_code}' --max-time 2 -H "Host: ${URL#*://}" "http://127.0.0.1:$PORT/healthz")" != 200 ] || return 0
		sleep 0.2
	done
	supervisor_ctl status >&2 || true
	for i in web live worker spawn nginx; do
		[ ! -s "$STATE/logs/$i.log" ] || { say "$i:"; tail -n 5 "$STATE/logs/$i.log" >&2; }
	done
	fail "the site does not answer at $URL/healthz"
}
