#!/bin/bash
# downloads.sh TREE measures what three kinds of users and the tool download from empty
# caches, and the processor time of a first `go tool fsmgen gen`. It prints one line each.
# Downloads come from the module cache of this machine where it has them.
set -e
tree=$(cd "$1" && pwd)
path=github.com/fsmgen/fsmgen
have=file://$(go env GOMODCACHE)/cache/download
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

fresh() { # an empty module that requires the tree, with empty caches
    work=$(mktemp -d)
    mkdir "$work/app"
    cd "$work/app"
    export GOMODCACHE=$work/mod GOCACHE=$work/cache GOPROXY=$have,https://proxy.golang.org GOSUMDB=off GOFLAGS=-mod=mod
    go mod init example.com/app 2>/dev/null
    go mod edit -require=$path@v0.0.0 -replace=$path="$tree"
}
report() {
    mkdir -p "$work/mod/cache/download"
    find "$work/mod/cache/download" -name '*.zip' -printf '%s\n' |
        awk -v kind="$1" -v more="$2" '{n++; b+=$1} END {printf "%s: %d modules, %.1f MB%s\n", kind, n, b/1e6, more}'
    chmod -R u+w "$work"; rm -rf "$work"
}
for kind in pure:runtime sqlite:runtime/sqlite postgres:runtime/postgres; do
    fresh
    printf 'package main\n\nimport _ "%s/%s"\n\nfunc main() {}\n' $path "${kind#*:}" >main.go
    GOCACHE=$(cd / && env -u GOCACHE go env GOCACHE) go build -o app .
    report "${kind%:*}"
done
fresh
go get -tool $path/cmd/fsmgen 2>gen.log || { cat gen.log; exit 1; }
cp "$tree/specs/lifecycle.yaml" .
TIMEFORMAT='%U %S'
spent=$({ time go tool fsmgen gen -o out lifecycle.yaml >gen.log 2>&1; } 2>&1) || { cat gen.log; exit 1; }
report tool ", a first gen takes $(awk '{printf "%.1f", $1+$2}' <<<"$spent") s of processor time"
