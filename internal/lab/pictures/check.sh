#!/usr/bin/env bash
# Has Graphviz, D2 and PlantUML read and draw the texts of every machine of the
# repository. It installs Graphviz and D2 where they are missing; PlantUML, which
# needs a Java runtime, only with FSMGEN_REQUIRE_PLANTUML.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
	echo "npm is missing; install Node.js 20 or newer" >&2
	exit 1
fi
missing=()
if ! command -v dot >/dev/null; then missing+=(graphviz); fi
if ! command -v plantuml >/dev/null && [[ -n ${FSMGEN_REQUIRE_PLANTUML:-} ]]; then missing+=(plantuml default-jre-headless); fi
if ((${#missing[@]})); then
	sudo=()
	if ((EUID != 0)); then sudo=(sudo); fi
	"${sudo[@]}" apt-get update -qq
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
# npm leaves this file behind: older than the lock file means not installed yet.
if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi

texts=$(mktemp -d)
trap 'rm -rf "$texts"' EXIT
(
	cd ../../..
	go build -o "$texts/fsmgen" ./cmd/fsmgen
	for spec in specs/*.yaml examples/*/[!.]*.yaml; do
		for ext in dot d2 puml; do
			"$texts/fsmgen" diagram "$spec" --quiet -o "$texts/$(basename "$spec" .yaml).$ext"
		done
	done
)
for text in "$texts"/*.dot; do
	dot -Tplain "$text" -o "${text%.dot}.plain"
	dot -Tsvg "$text" -o /dev/null
done
echo "Graphviz draws $(ls "$texts"/*.dot | wc -l) machines"
node d2.mjs "$texts"
if command -v plantuml >/dev/null; then
	plantuml -checkonly "$texts"/*.puml
	sed 's/^state /stat /' "$texts/task.puml" > "$texts/broken.puml"
	if plantuml -checkonly "$texts/broken.puml" >/dev/null 2>&1; then
		echo "PlantUML accepts a broken text: this check proves nothing" >&2
		exit 1
	fi
	echo "PlantUML reads $(ls "$texts"/*.puml | grep -vc broken) machines"
else
	echo "plantuml is missing (Debian: plantuml): the texts for PlantUML are not read; FSMGEN_REQUIRE_PLANTUML=1 installs it"
fi
