package main

//go:generate go tool fsmgen gen ../../specs/lifecycle.yaml -o lifecycle --test-store sqlite,postgres --engine-tests
