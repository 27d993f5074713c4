package main

//go:generate go tool fsmgen gen job.yaml
