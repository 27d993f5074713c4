#!/usr/bin/env bash
# Installs XState and SCION, where they are missing, and has them take the
# exported machines of the repository, with walks of the language's interpreter.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
	echo "npm is missing; install Node.js 20 or newer" >&2
	exit 1
fi
# npm leaves this file behind: older than the lock file means not installed yet.
if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi
exports=$(mktemp -d)
trap 'rm -rf "$exports"' EXIT
(cd ../../.. && FSMGEN_EXPORTS=$exports go test ./gen/export -run '^TestWalks$' -count=1)
node check.mjs "$exports"
node scxml.mjs "$exports"
