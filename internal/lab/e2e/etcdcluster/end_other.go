//go:build unix && !linux

package etcdcluster

import "os/exec"

// endWithUs: here only the test's own binary ends with the test, see Main.
func endWithUs(*exec.Cmd) {}
