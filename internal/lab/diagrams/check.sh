#!/usr/bin/env bash
# Installs what the check of the diagrams needs, where it is missing, and runs
# it. Arguments go to check.mjs; without any it checks the diagrams of the
# repository and of machines with odd names that a test makes up.
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
if (($#)); then
	exec node check.mjs "$@"
fi
samples=$(mktemp -d)
trap 'rm -rf "$samples"' EXIT
(cd ../../.. && FSMGEN_DIAGRAM_SAMPLES=$samples go test ./gen/chart -run '^TestMermaidAnyNames$' -count=1 -rapid.seed=1 -rapid.checks=60)
node check.mjs ../../.. "$samples"
