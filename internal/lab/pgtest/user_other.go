//go:build !linux

package pgtest

import (
	"os"
	"os/exec"
)

// immediate makes the server end without a last checkpoint.
var immediate = os.Kill

func give(string) error { return nil }

func unprivileged(*exec.Cmd) {}
