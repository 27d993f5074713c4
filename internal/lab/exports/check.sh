#!/usr/bin/env bash
# Installs XState, where it is missing, and has it take the exported machines of
# the repository through every cell of their matrix.
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
(
	cd ../../..
	go build -o "$exports/fsmgen" ./cmd/fsmgen
	for spec in specs/*.yaml gen/export/testdata/*.yaml examples/machines/*.yaml; do
		name=$exports/$(basename "$spec" .yaml)
		"$exports/fsmgen" export "$spec" --format xstate --quiet -o "$name.xstate.json"
		"$exports/fsmgen" diagram "$spec" --quiet -o "$name.csv"
	done
)
node check.mjs "$exports"
