package main

//go:generate go tool fsmgen gen naive.yaml -o naive --test-store sqlite
//go:generate go tool fsmgen gen ../../specs/execution.yaml -o execution --test-store sqlite,postgres
