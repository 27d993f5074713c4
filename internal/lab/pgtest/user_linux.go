package pgtest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// immediate makes the server end without a last checkpoint.
const immediate = syscall.SIGQUIT

// account returns the ids to run the server as: none unless we are root.
func account() (uid, gid int, ok bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, err1 := strconv.Atoi(u.Uid)
			gid, err2 := strconv.Atoi(u.Gid)
			if err1 == nil && err2 == nil {
				return uid, gid, true
			}
		}
	}
	return 65534, 65534, true
}

func give(dir string) error {
	uid, gid, ok := account()
	if !ok {
		return nil
	}
	return os.Chown(dir, uid, gid)
}

// unprivileged makes a program run as the server's user, and end with us.
func unprivileged(cmd *exec.Cmd) {
	attr := &syscall.SysProcAttr{Pdeathsig: immediate}
	if uid, gid, ok := account(); ok {
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	cmd.SysProcAttr = attr
}
