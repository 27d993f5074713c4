package main

//go:generate go tool fsmgen gen ../../specs/ingest.yaml -o ingest --test-store sqlite,postgres --engine-tests
