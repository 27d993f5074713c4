#!/usr/bin/env bash
# Tests the command, builds the site, and reads every page of it in Chromium, which it
# installs where it is missing.
set -euo pipefail
cd "$(dirname "$0")"

if [[ -z ${CHROMIUM:-} ]] && ! command -v chromium chromium-browser google-chrome >/dev/null; then
	sudo=()
	if ((EUID != 0)); then sudo=(sudo); fi
	"${sudo[@]}" apt-get update -qq
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
fi
go test ./...
./build.sh
node check.mjs public
../../../playground/page/check.sh --built
