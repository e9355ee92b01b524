# shellcheck shell=bash
# What the e2e scripts share, on top of tests/support/script.bash: runs by the API, execs in their boxes,
# and what an error must look like.
# shellcheck source=tests/support/script.bash
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.bash"

# shellcheck disable=SC2034 # scripts use them
none="run-aaaaaaaaaaaaaaaa" boot_id=$(cat /proc/sys/kernel/random/boot_id)

# A text without control characters other than tab and newline, as JSON.
json_text() {
	local s=${1//\\/\\\\}
	s=${s//\"/\\\"}
	s=${s//$'\n'/\\n}
	printf '"%s"' "${s//$'\t'/\\t}"
}
# delegate TASK [MORE]: the new run's name; MORE is members for the body. Nothing where it is refused.
delegate() {
	api POST /delegate.json "{\"task\":$(json_text "$1"),\"agent\":\"script\"${2:+,$2}}" >"$work/delegated"
	member "$(cat "$work/delegated")" session
}
run_get() { api GET "/watch.json?session=$1"; }
run_state() { sql "SELECT state FROM runs WHERE name = '$1'"; }
run_is() { [ "$(run_state "$1")" = "$2" ]; }
run_ended() { [[ " done failed stopped lost " == *" $(run_state "$1") "* ]]; }
# outcome RUN: "state reason exit_code" once it has ended
outcome() {
	wait_for "${2:-90}" run_ended "$1"
	sql "SELECT state || ' ' || coalesce(reason, '-') || ' ' || coalesce(exit_code::text, '-') FROM runs WHERE name = '$1'"
}
detail() { sql "SELECT coalesce(t.detail, '') FROM turns t JOIN runs r ON r.id = t.run_id WHERE r.name = '$1' ORDER BY t.n DESC LIMIT 1"; }
# The run's output, stdout and stderr as they came.
log_text() {
	api GET "/log.json?session=$1&limit=5000" >"$work/log.json"
	node -e 'for (const l of JSON.parse(require("fs").readFileSync(process.argv[1])).lines) console.log(l.text)' "$work/log.json"
}
teardown() { api POST /teardown.json "{\"session\":\"$1\"}" >/dev/null; }
blob() { curl -sS --max-time 60 -H "@$work/auth" -o "$2" -w '%{http_code}' "$ASB_URL/blob?name=$1" >"$work/status"; }
# exec_request BODY: EXEC when it has ended; its members are files in $work/exec/ ("" where null)
exec_request() {
	rm -rf "$work/exec"
	mkdir "$work/exec"
	api POST /exec.json "$1" >"$work/exec.json"
	node -e '
		const fs = require("fs"), [from, to] = process.argv.slice(1);
		for (const [k, v] of Object.entries(JSON.parse(fs.readFileSync(from)))) fs.writeFileSync(`${to}/${k}`, `${v ?? ""}`);
	' "$work/exec.json" "$work/exec"
}
exec_member() { cat "$work/exec/$1"; }
exec_argv() { exec_request "{\"session\":\"$1\",\"argv\":$2,\"wait_ms\":60000}"; } # exec_argv RUN JSON
# exec_code RUN CODE [MORE]: a bash script in the run's box; its stdout is printed
exec_code() {
	exec_request "{\"session\":\"$1\",\"code\":$(json_text "$2"),\"wait_ms\":110000${3:+,$3}}"
	exec_member stdout
}
