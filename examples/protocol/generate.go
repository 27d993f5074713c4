package main

//go:generate go tool fsmgen gen tcp.yaml
