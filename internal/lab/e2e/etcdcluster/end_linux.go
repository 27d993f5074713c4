package etcdcluster

import (
	"os/exec"
	"syscall"
)

// endWithUs makes a process end when the test does, however that ends.
func endWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
