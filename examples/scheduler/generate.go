package main

//go:generate go tool fsmgen gen ../../specs/task.yaml -o task --test-store sqlite,postgres --engine-tests
