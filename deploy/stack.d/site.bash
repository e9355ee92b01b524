# shellcheck shell=bash
# Who the site is: its name, places, uids and port, and the settings its programs read.

say() { echo "stack: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

: "${MODE:=release}"
repo=${repo:?}
SITE=${ASB_SITE:-$(printf %s "$repo" | sha256sum | cut -c 1-8)}
[[ $SITE =~ ^[0-9a-z]{8}$ ]] || fail "ASB_SITE is 8 lower-case letters or digits"
ROOT=$([ "$(id -u)" = 0 ] && echo 1 || echo 0)
if [ "$ROOT" = 1 ]; then
	SITES=/var/lib/agent-sandbox/sites
	STATE=/var/lib/agent-sandbox/dev-$SITE
	RUN=/run/agent-sandbox/$SITE
	CACHE=${ASB_CACHE_DIR:-/var/cache/agent-sandbox}
else
	# under the caller's uid alone: slots are not separated then, and boxes say so
	SITES=${XDG_STATE_HOME:-$HOME/.local/state}/agent-sandbox/sites
	STATE=${XDG_STATE_HOME:-$HOME/.local/state}/agent-sandbox/dev-$SITE
	RUN=${XDG_RUNTIME_DIR:-/tmp/agent-sandbox-$(id -u)}/agent-sandbox/$SITE
	CACHE=${ASB_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/agent-sandbox}
fi
# the longest socket is RUN/box/box-16/shim.sock, and a socket's path holds 107 bytes
[ "${#RUN}" -le 65 ] || fail "$RUN is too long for sockets: set XDG_RUNTIME_DIR to something shorter"

# The site's own numbers; each program's is uid_of NAME.
site_numbers() {
	UID_BASE=0
	[ "$ROOT" = 1 ] && UID_BASE=$((${BOX_UID_BASE:-1900000000} + 256 * RANGE))
	door_load
	URL=${DOOR_URL:-http://127.0.0.1:$PORT}
	return 0
}
uid_of() {
	case $1 in
	web) echo "$UID_BASE" ;;
	worker) echo $((UID_BASE + 1)) ;;
	gate) echo $((UID_BASE + 2)) ;;
	nginx | rotate) echo $((UID_BASE + 3)) ;;
	live) echo $((UID_BASE + 4)) ;;
	postgres) id -u postgres ;;
	*) echo 0 ;;
	esac
}

# become NAME: sets `who` to the command that runs another as the program's uid and group, without a way back. The
# site's group (web's) is what lets a program make its socket in RUN and nginx reach web and live.
become() {
	local id group groups=(--clear-groups)
	id=$(uid_of "$1")
	group=$id
	[ "$1" != postgres ] || group=$(id -g postgres)
	[ "$1" = postgres ] || [ "$id" = "$UID_BASE" ] || groups=(--groups "$UID_BASE")
	who=(setpriv --reuid "$id" --regid "$group" "${groups[@]}" --no-new-privs --)
}
# Runs it without the caller's ASB_ variables: they would go before the site's own settings. `make` exports
# ASB_CACHE_DIR, tests all that `stack env` says.
without_settings() {
	local drop=()
	mapfile -t drop < <(compgen -e | sed -n 's/^ASB_/--unset=&/p; s/^ANTHROPIC_/--unset=&/p')
	env "${drop[@]}" "$@"
}
# as NAME COMMAND...
as() {
	local who=()
	[ "$ROOT" = 0 ] || become "$1"
	shift
	${who[@]+"${who[@]}"} "$@"
}
own() { # own NAME MODE PATH...
	local owner=$1 mode=$2
	shift 2
	chmod "$mode" "$@"
	[ "$ROOT" = 0 ] || chown "$(uid_of "$owner")" "$@"
}

port_is_quiet() { [ -z "$(ss -Hltn "sport = :$1")" ]; }
port_is_free() {
	port_is_quiet "$1" && ! grep -qsx "PORT=$1" "$SITES"/*.site
}

# The first range of uids and the first port that no other site has, under one lock. A site whose
# state is gone has lost its claim.
site_claim() {
	local claim=$SITES/$SITE.site other
	mkdir -p "$SITES"
	exec 8>"$SITES/lock"
	flock 8
	if [ -f "$claim" ]; then
		site_load
		# who holds it may be what a killed supervisor left
		if supervisor_is_up || port_is_quiet "$PORT" || { proof_sweep && port_is_quiet "$PORT"; }; then
			exec 8>&-
			return
		fi
		say "port $PORT is taken by something else now"
		rm -f "$claim"
	fi
	for other in "$SITES"/*.site; do
		[ ! -f "$other" ] || [ -d "$(sed -n 's/^STATE=//p' "$other")" ] || rm -f "$other"
	done
	RANGE=0
	while grep -qsx "RANGE=$RANGE" "$SITES"/*.site; do
		RANGE=$((RANGE + 1))
	done
	PORT=8380
	while ! port_is_free "$PORT"; do
		PORT=$((PORT + 1))
	done
	mkdir -p "$STATE"
	printf 'RANGE=%s\nPORT=%s\nSTATE=%s\n' "$RANGE" "$PORT" "$STATE" >"$claim.new"
	mv "$claim.new" "$claim"
	exec 8>&-
	site_numbers
}

site_load() {
	local claim=$SITES/$SITE.site
	CLAIMED=0 UID_BASE=0 PORT=0 URL=http://127.0.0.1:8380
	[ -s "$claim" ] || return 0
	# shellcheck disable=SC2034 # stack asks
	CLAIMED=1
	RANGE=$(sed -n 's/^RANGE=//p' "$claim")
	PORT=$(sed -n 's/^PORT=//p' "$claim")
	site_numbers
}

site_forget() {
	rm -rf "$STATE" "$SITES/$SITE.site"
	[ "$(readlink "$repo/var" 2>/dev/null)" != "$STATE" ] || rm -f "$repo/var"
	rm -f "$SITES/$SITE.lock"
}

site_dirs() {
	umask 022
	mkdir -p "$STATE"/{pg,secrets,logs,box,conf,nginx} "$STATE"/lib/{bin,box} "$RUN"/{pg,box} "$CACHE"
	# others may pass through, but not look around
	chmod 0711 "$STATE/secrets" "$STATE/box" "$RUN/box"
	# the supervisor alone writes there: a box's uid has no business with what others did
	chmod 0700 "$STATE/logs"
	own postgres 0700 "$STATE/pg"
	own postgres 0755 "$RUN/pg"
	own nginx 0700 "$STATE/nginx"
	if [ "$ROOT" = 1 ]; then
		# each program makes its socket here, in the site's group, and may not touch another's
		chown "0:$UID_BASE" "$RUN"
		chmod 3771 "$RUN"
	else
		chmod 0700 "$RUN"
	fi
	# the clone may be read-only, or another site's
	[ -n "${ASB_SITE:-}" ] || [ -e "$repo/var" ] || ln -sfn "$STATE" "$repo/var" 2>/dev/null || true
}

# secret_once NAME FILE: 32 random bytes, made once, readable by the program alone.
secret_once() {
	if [ ! -s "$STATE/secrets/$2" ]; then
		(umask 077 && head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n' >"$STATE/secrets/$2.new")
		own "$1" 0600 "$STATE/secrets/$2.new"
		mv "$STATE/secrets/$2.new" "$STATE/secrets/$2"
		[ "$2" != operator.token ] || say "made the operator's token: $STATE/secrets/operator.token"
	fi
}

# The model's key where the caller brings one: the gate's alone from here on, and in no environment. With it comes
# where the model is.
model_key_take() {
	local key=$STATE/secrets/anthropic.key
	if [ -n "${ANTHROPIC_API_KEY_FILE:-}" ]; then
		(umask 077 && cat -- "$ANTHROPIC_API_KEY_FILE" >"$key.new") || fail "ANTHROPIC_API_KEY_FILE cannot be read"
	elif [ -n "${ANTHROPIC_API_KEY:-}" ]; then
		(umask 077 && printf '%s\n' "$ANTHROPIC_API_KEY" >"$key.new")
	else
		return 0
	fi
	unset ANTHROPIC_API_KEY ANTHROPIC_API_KEY_FILE
	printf '%s\n' "${ANTHROPIC_BASE_URL:-}" >"$STATE/conf/anthropic.url"
	own gate 0600 "$key.new"
	cmp -s "$key.new" "$key" || changed
	mv "$key.new" "$key"
}

site_settings() {
	local conf=$STATE/conf/site.conf
	secret_once web operator.token
	secret_once gate receipt.key
	secret_once gate seal.key
	# the one secret that two programs know
	own web 0640 "$STATE/secrets/operator.token"
	[ "$ROOT" = 0 ] || chgrp "$(uid_of live)" "$STATE/secrets/operator.token"
	{
		echo "# written by deploy/stack; the table of settings is docs/config.md"
		echo "ASB_SITE=$SITE"
		echo "ASB_URL=$URL"
		echo "ASB_STATE_DIR=$STATE"
		echo "ASB_RUN_DIR=$RUN"
		echo "ASB_CACHE_DIR=$STATE/cache"
		echo "ASB_LIB_DIR=$STATE/lib"
		echo "ASB_DB=host=$RUN/pg dbname=asb"
		echo "BOX_UID_BASE=$UID_BASE"
		if [ -s "$STATE/secrets/anthropic.key" ]; then
			echo "ASB_MODEL=1"
			[ ! -s "$STATE/conf/anthropic.url" ] || sed -n 's/^./ANTHROPIC_BASE_URL=&/p' "$STATE/conf/anthropic.url"
		fi
		[ -z "${ASB_SETTINGS:-}" ] || printf '%s\n' "$ASB_SETTINGS"
	} >"$conf.new"
	chmod 644 "$conf.new"
	cmp -s "$conf.new" "$conf" || changed
	mv "$conf.new" "$conf"
}

site_env() {
	printf 'export %s=%q\n' ASB_SITE "$SITE" ASB_URL "$URL" ASB_TOKEN_FILE "$STATE/secrets/operator.token" \
		ASB_STATE_DIR "$STATE" ASB_RUN_DIR "$RUN" ASB_CACHE_DIR "$CACHE" ASB_LIB_DIR "$STATE/lib" \
		ASB_UID_BASE "$UID_BASE"
	# asb; once, however often this is evaluated
	# shellcheck disable=SC2016 # the shell that evaluates it has its own PATH
	printf 'case ":$PATH:" in *:%q:*) ;; *) export PATH=%q:"$PATH" ;; esac\n' "$STATE/lib/bin" "$STATE/lib/bin"
}

# The token goes by stdin, since a command line can be read by everyone.
site_signin() {
	local answer
	answer=$(printf 'Authorization: Bearer %s\n' "$(cat "$STATE/secrets/operator.token")" |
		curl -sS --max-time 10 -H @- -H "Host: ${URL#*://}" -H 'Content-Type: application/json' -d '{}' \
			"http://127.0.0.1:$PORT/signin_code.json") ||
		fail "the site does not answer at $URL"
	grep -o '"url":"[^"]*"' <<<"$answer" | cut -d '"' -f 4 | grep . || fail "no sign-in code: $answer"
}
