#!/usr/bin/env bash
# Installs the YAML language server, where it is missing, and asks it for
# completion as an editor does.
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
node check.mjs ../../../spec/schema.json
