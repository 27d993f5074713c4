#!/usr/bin/env bash
# Installs XState, where it is missing, and has it take the exported machines of
# the repository through every cell of their matrix. Then it holds what programs write
# to the exported schemas, and has the compiler of TypeScript read it as the exported types.
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
written=$exports/written
mkdir "$written"
FSMGEN_EXPORTS=$written go test -count=1 .
for records in "$written"/*.records.jsonl; do
	name=$(basename "$records" .records.jsonl)
	for spec in ../../../{specs,examples/machines,examples/orders}/"$name".yaml; do
		if [[ -e $spec ]]; then break; fi
	done
	"$exports/fsmgen" export "$spec" --format jsonschema --quiet -o "$written/$name.schema.json"
	"$exports/fsmgen" export "$spec" --format ts --quiet -o "$written/$name.ts"
done
node written.mjs "$written"
cp tsconfig.json package.json "$written"
node node_modules/typescript/bin/tsc -p "$written"
echo "what programs wrote is valid, and of its types"
