#!/usr/bin/env bash
# Builds the playground, compares what its programs answer with the native command, and
# uses the page in Chromium, which it installs where it is missing. With --built it builds no page.
set -euo pipefail
cd "$(dirname "$0")"

if [[ -z ${CHROMIUM:-} ]] && ! command -v chromium chromium-browser google-chrome >/dev/null; then
	sudo=()
	if ((EUID != 0)); then sudo=(sudo); fi
	"${sudo[@]}" apt-get update -qq
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
fi
[[ ${1:-} == --built ]] || ./build.sh
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
(cd ../../.. && "${GO:-go}" build -o "$programs/fsmgen" ./cmd/fsmgen)
node check.mjs "$programs/fsmgen"
