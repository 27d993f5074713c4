#!/usr/bin/env bash
# Builds the site into the folder public: pages, then the index of the search. It
# installs Pagefind where it is missing.
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
rm -rf public
go run . -root ../../../.. -o public
../../../playground/page/build.sh
cp -r ../../../playground/page/public public/playground
sed -i 's#href="https://github.com/fsmgen/fsmgen"#href="../index.html"#' public/playground/index.html
node_modules/.bin/pagefind --site public --quiet
echo "internal/lab/tools/site/public: $(du -sk public | cut -f1) KiB; any file server shows it"
