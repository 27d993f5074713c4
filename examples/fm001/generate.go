package main

//go:generate go tool fsmgen gen naive.yaml -o naive --test-store sqlite --engine-tests
//go:generate go tool fsmgen gen ../../specs/job.yaml -o job --test-store sqlite,postgres --engine-tests
//go:generate go tool fsmgen gen ../../specs/execution.yaml -o execution --test-store sqlite,postgres --engine-tests
