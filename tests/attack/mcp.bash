# shellcheck shell=bash
# What the attacks on the MCP door share, on top of attack.bash: requests as they are, by curl.
# shellcheck source=tests/attack/attack.bash
. "$(dirname "${BASH_SOURCE[0]}")/attack.bash"
api GET /healthz >/dev/null # makes $work/auth
list='{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

# mcp BODY [CURL-ARGUMENT...]: POST /mcp with the operator's token; the answer, and its status in $work/status
mcp() {
	local body=$1
	shift
	printf '%s' "$body" >"$work/request"
	curl -sS --max-time 60 -X POST -H "@$work/auth" -H 'Content-Type: application/json' --data-binary "@$work/request" \
		-D "$work/head" -o "$work/body" -w '%{http_code}' "$@" "$ASB_URL/mcp" >"$work/status" || echo 000 >"$work/status"
	cat "$work/body"
}
# mcp_status BODY [CURL-ARGUMENT...]: the status alone
mcp_status() {
	mcp "$@" >/dev/null
	cat "$work/status"
}
# bare [CURL-ARGUMENT...]: the same request without a token; its status
bare() {
	curl -sS --max-time 60 -X POST -H 'Content-Type: application/json' --data-binary "$list" -o "$work/body" -D "$work/head" \
		-w '%{http_code}' "$@" "$ASB_URL/mcp"
}
# tool NAME ARGUMENTS: the result's text (its first item)
tool() {
	mcp "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}" >"$work/result"
	# a call that was waited for is answered by a stream
	node -e '
		const text = require("fs").readFileSync(process.argv[1], "utf8");
		const json = text.startsWith("{") ? text : text.split("\n").filter((l) => l.startsWith("data: ")).at(-1).slice(6);
		require("fs").writeFileSync(process.argv[1], json);
		const m = JSON.parse(json);
		process.stdout.write(m.result?.content[0].text ?? JSON.stringify(m.error));
	' "$work/result"
}
