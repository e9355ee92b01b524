# shellcheck shell=bash
# Sourced in the repository's root, after tests/ui/node.bash has set NODE: sees to it that tests/mcp/node_modules is
# what the lock file says.
if ! cmp -s tests/mcp/package-lock.json tests/mcp/node_modules/.installed; then
	(cd tests/mcp && npm ci --ignore-scripts --no-audit --no-fund >/dev/null) || {
		echo "tests/mcp: npm ci failed" >&2
		exit 1
	}
	cp tests/mcp/package-lock.json tests/mcp/node_modules/.installed
fi
