# shellcheck shell=bash
# What attack scripts share, on top of the e2e ones: an attack is something that must not succeed, and a
# control is the same thing where it must; without both a script is no test. Each ends with a line that says so.
# shellcheck source=tests/e2e/e2e.bash
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/e2e.bash"
attacks=0 controls=0

attack() { # attack NAME COMMAND...: the command passes where the attack has failed
	attacks=$((attacks + 1))
	check "$@"
}
control() { # control NAME COMMAND...
	controls=$((controls + 1))
	check "control: $1" "${@:2}"
}
same() { [ "$1" = "$2" ] || { printf 'got %q, wanted %q\n' "${1:0:300}" "$2"; return 1; }; }
refuse_same() { [ "$1" != "$2" ]; }
says() { grep -qE -- "$2" <<<"$1" || { printf 'no %q in: %s\n' "$2" "${1:0:600}"; return 1; }; } # says TEXT PATTERN
# A box to attack from: a run without a tree, whose box stays when its task is done.
box_make() {
	run=$(delegate 'true' "${1:-}")
	control "a box is made, and its task is done" same "$(outcome "$run")" "done ok 0"
	# shellcheck disable=SC2034 # scripts use it
	box=$(sql "SELECT b.name FROM boxes b JOIN runs r ON r.box_id = b.id WHERE r.name = '$run'")
}
# The last proof of its seal, made anew from inside: whatever a script has done, the box is sealed and usable.
still_sealed() {
	control "the box is still usable" same "$(exec_code "$run" 'echo usable')" usable
	attack "and has no way out" same "$(exec_code "$run" 'ls /sys/class/net; cat /proc/net/route | wc -l')" $'lo\n1'
}
finish_attack() { # finish_attack ID WHAT: one that was cut short has not held
	[ "$?" = 0 ] || fail "$1 was cut short"
	[ -z "${run:-}" ] || teardown "$run"
	local verdict=held
	[ "$failed" = 0 ] && [ "$attacks" -gt 0 ] && [ "$controls" -gt 0 ] || verdict=BROKEN
	echo "attack $1 $verdict: $2; attacks=$attacks controls=$controls"
	[ "$verdict" = held ] || failed=$((failed + 1))
	finish_script
}
