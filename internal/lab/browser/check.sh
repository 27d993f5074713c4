#!/usr/bin/env bash
# Installs what the browser tests need, where it is missing, and runs them.
# Arguments go to check.mjs: parts of the names of tests. Pictures of the page
# are left in the folder shots.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
	echo "npm is missing; install Node.js 20 or newer" >&2
	exit 1
fi
if [[ -z ${CHROMIUM:-} ]] && ! command -v chromium chromium-browser google-chrome >/dev/null; then
	sudo=()
	if ((EUID != 0)); then sudo=(sudo); fi
	"${sudo[@]}" apt-get update -qq
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
fi
# npm leaves this file behind: older than the lock file means not installed yet.
if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
(cd ../../.. && go build -o "$bin/" ./cmd/fsmgen ./internal/lab/browser/seed ./internal/lab/browser/desk ./internal/lab/pgtest/with)
(cd ../../../cmd/fsmctl && go build -o "$bin/" .)
# The console is used over PostgreSQL too, where that is installed.
"$bin/with" node check.mjs "$bin" "$@"
