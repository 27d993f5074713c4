#!/usr/bin/env bash
# Installs the YAML language server, where it is missing, and asks it for
# completion as an editor does. Builds the extension for VS Code.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
	echo "npm is missing; install Node.js 20 or newer" >&2
	exit 1
fi
# npm leaves a file behind: older than the lock file means not installed yet.
for folder in . vscode; do
	if [[ ! $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]]; then
		npm --prefix "$folder" ci --ignore-scripts --no-audit --no-fund --loglevel=error
	fi
done
node check.mjs ../../../spec/schema.json
npm --prefix vscode run --silent package
