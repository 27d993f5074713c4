package main

//go:generate go tool fsmgen gen order.yaml -o order --test-store sqlite,postgres --engine-tests
