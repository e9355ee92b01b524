# shellcheck shell=bash
# What test scripts share: counting, checks with a name, asking the site. Sourced; prints "N passed,
# N failed" at the end and fails if anything did: `trap finish_script EXIT` is the script's part.

passed=0 failed=0
work=$(mktemp -d)

pass() {
	passed=$((passed + 1))
	echo "ok   $*"
}
fail() {
	failed=$((failed + 1))
	echo "FAIL $*"
}
# tree_copy DEST: this tree as it is, for the demo, which plants its word in the tree it is run from
tree_copy() {
	git clone -q "file://$repo" "$1"
	(cd "$repo" && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do
		[ ! -e "$f" ] || printf '%s\0' "$f"
	done | tar -c --null -T - -f -) | tar -x -C "$1" -f -
}
# check NAME COMMAND...: passes if the command does
check() {
	local name=$1
	shift
	if "$@" >"$work/check.out" 2>&1; then
		pass "$name"
	else
		fail "$name"
		sed 's/^/     /' "$work/check.out" | tail -n 20
	fi
}
# refuse NAME PATTERN COMMAND...: passes if the command fails and says PATTERN (extended, any case)
refuse() {
	local name=$1 pattern=$2
	shift 2
	if "$@" >"$work/check.out" 2>&1; then
		fail "$name: was accepted"
	elif grep -qiE "$pattern" "$work/check.out"; then
		pass "$name"
	else
		fail "$name: refused, but without /$pattern/"
	fi
	[ "$failed" = 0 ] || tail -n 5 "$work/check.out" | sed 's/^/     /'
}
equal() { # equal NAME GOT WANTED
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1: got ${2:0:200}, wanted ${3:0:200}"
	fi
}
# member JSON PATH...: a member's text ("" where absent or null)
member() {
	node -e '
		let v = JSON.parse(process.argv[1]);
		for (const k of process.argv.slice(2)) v = v == null ? v : v[k];
		process.stdout.write(v == null ? "" : typeof v === "object" ? JSON.stringify(v) : String(v));
	' "$@"
}
# api METHOD PATH [BODY]: the answer's body, and its status in $work/status. The token is in a file.
api() {
	local args=()
	[ -f "$work/auth" ] || (umask 077 && printf 'Authorization: Bearer %s\n' "$(cat "$ASB_TOKEN_FILE")" >"$work/auth")
	[ $# -lt 3 ] || args=(-H 'Content-Type: application/json' --data-binary "$3")
	curl -sS --max-time 180 -X "$1" -H "@$work/auth" -o "$work/body" -w '%{http_code}' "${args[@]}" \
		"$ASB_URL$2" >"$work/status" || echo 000 >"$work/status"
	cat "$work/body" 2>/dev/null || true
}
sql() { "$repo/deploy/stack" psql -At -c "$1"; }
# wait_for SECONDS COMMAND...: until it succeeds. By the clock: bash's SECONDS would take up to one off.
wait_for() {
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
		sleep 0.3
	done
}
finish_script() {
	rm -rf "$work"
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ] && exit 0
	exit 1
}
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
