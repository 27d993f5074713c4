package cli

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// Versions loads the old and the new specification. The new one must be sound;
// the old one may have findings of rules that it is older than.
func (c *CLI) Versions(args []string, against string) (old, next *Source, err error) {
	switch {
	case against == "" && len(args) == 1:
		return nil, nil, Usagef("the old version is missing; name it first, or take it from git with --against git:REVISION")
	case against != "" && len(args) == 2:
		return nil, nil, Usagef("--against takes the place of the old file; name the new one only")
	case against != "":
		old, err = c.FromGit("--against", against, args[0])
	case args[0] == "-" && args[1] == "-":
		err = Usagef("the standard input is one version; name a file for the other one")
	default:
		old, err = c.Load(args[0])
	}
	if err != nil {
		return nil, nil, err
	}
	if next, err = c.Load(args[len(args)-1]); err != nil {
		return nil, nil, err
	}
	for _, s := range []*Source{old, next} {
		if s.Machine == nil || s == next && s.Found.HasErrors() {
			c.RenderAll(c.Err, []*Source{s}, spec.Error)
			return nil, nil, Usagef("%s has errors; fix them first", s.Name)
		}
	}
	return old, next, nil
}

// gitLimit is how long git may take for one file.
const gitLimit = 30 * time.Second

// FromGit loads the specification at path as it was at a revision, which a flag
// names.
func (c *CLI) FromGit(flag, against, path string) (*Source, error) {
	revision, ok := strings.CutPrefix(against, "git:")
	if !ok || revision == "" || strings.HasPrefix(revision, "-") || strings.ContainsAny(revision, ":\x00\n") {
		return nil, Usagef("%s is %q; write git: and a revision, such as git:main", flag, against)
	}
	if path == "-" {
		return nil, Usagef("the standard input has no history; name a file for %s", flag)
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitLimit)
	defer cancel()
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", "show", revision+":./"+filepath.Base(path))
	cmd.Dir = filepath.Dir(path)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, Usagef("%s needs git: %w", flag, err)
		}
		why, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		if why == "" {
			why = err.Error()
		}
		return nil, Usagef("cannot read %s at %s: %s", Shown(path), revision, strings.TrimPrefix(why, "fatal: "))
	}
	s := &Source{Path: path, Name: revision + ":" + Shown(path), Text: out.Bytes()}
	c.Current = s.Name
	s.Machine, s.Found = validate.Source(s.Name, s.Text)
	return s, nil
}
