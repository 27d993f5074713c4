package main

//go:generate go tool fsmgen gen ../../specs/jobstate.yaml -o jobstate --test-store sqlite,postgres --engine-tests
