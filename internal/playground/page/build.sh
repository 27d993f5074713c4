#!/usr/bin/env bash
# Builds the playground into the folder public: the two programs of fsmgen as WebAssembly,
# the page with its editor, and the examples. Any file server shows it.
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
go=${GO:-go}
root=$(cd ../../.. && pwd)
rm -rf public
mkdir -p public/examples
for program in first second; do
	(cd "$root" && GOOS=js GOARCH=wasm "$go" build -trimpath -gcflags=all=-l -ldflags='-s -w' -o "internal/playground/page/public/$program.wasm" "./internal/playground/$program")
	node shrink.mjs "public/$program.wasm" "public/$program.wasm.gz"
	rm "public/$program.wasm"
done
cp "$("$go" env GOROOT)/lib/wasm/wasm_exec.js" public/wasm_exec.js
node_modules/.bin/esbuild main.js worker.js --bundle --minify --format=esm --target=es2022 --outdir=public --log-level=warning
rm public/wasm_exec.js # it is in worker.js
cp index.html page.css start.js "$root/internal/serve/static/app.css" "$root/internal/serve/static/icon.svg" "$root/spec/schema.json" public/
cp "$root"/specs/*.yaml public/examples/
sed 's/NAME/job/g; s/ENTITY/Job/g' "$root/cmd/fsmgen/starter.yaml" >public/examples/job.yaml # what `fsmgen init job` writes
