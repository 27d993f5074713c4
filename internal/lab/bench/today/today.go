// Package today builds a program over an earlier commit of this repository, so that it
// runs beside the code of now in one measurement.
package today

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
)

// Commit is the state of the repository that ratios "to then" are to.
const Commit = "226093e"

// ErrNoCommit says that the clone does not hold the commit, or is none.
var ErrNoCommit = errors.New("this clone does not hold commit " + Commit)

//go:embed main.go.txt
var program []byte

// Build makes a worktree of the commit in the folder, puts the program of a process in,
// and builds it. The worktree is gone when remove was called.
func Build(ctx context.Context, root, dir string) (exe string, remove func() error, err error) {
	run := func(in, name string, args ...string) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = in
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said)
		}
		return nil
	}
	if run(root, "git", "cat-file", "-e", Commit+"^{commit}") != nil {
		return "", nil, ErrNoCommit
	}
	tree := filepath.Join(dir, "tree")
	if err := run(root, "git", "worktree", "add", "--detach", tree, Commit); err != nil {
		return "", nil, err
	}
	remove = func() error { return run(root, "git", "worktree", "remove", "--force", tree) }
	own := filepath.Join(tree, "examples", "benchchild")
	exe = filepath.Join(dir, "child-"+Commit)
	err = errors.Join(
		write(filepath.Join(own, "main.go"), program),
		copied(child.Sources, filepath.Join(own, "child")),
		run(tree, "go", "run", "-trimpath", "./cmd/fsmgen", "gen", "-o", filepath.Join(own, "account"),
			filepath.Join(root, "internal", "lab", "fuzzmachines", "testdata", "account.yaml")),
		run(tree, "go", "build", "-trimpath", "-o", exe, "./examples/benchchild"))
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return exe, remove, nil
}

func copied(from embed.FS, to string) error {
	return fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := from.ReadFile(path)
		if err != nil {
			return err
		}
		return write(filepath.Join(to, path), text)
	})
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
