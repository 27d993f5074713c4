package main

//go:generate go tool fsmgen gen notice.yaml -o notice --test-store sqlite,postgres --engine-tests
