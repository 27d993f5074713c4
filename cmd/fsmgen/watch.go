package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/cli"
)

// watchPoll is how often the files are looked at. A file that changed since the
// last look is still being written, so it is read at the look after that.
const watchPoll = 150 * time.Millisecond

// watch generates once and then whenever a file changed, until ctx ends. What is
// wrong with a specification is printed, and waited out.
func (c *tool) watch(ctx context.Context, paths []string, f genFlags) error {
	if err := f.validate(paths); err != nil {
		return err
	}
	if slices.Contains(paths, "-") {
		return cli.Usagef("the standard input does not change; name a file to watch")
	}
	files := slices.Clone(paths)
	if f.beside != "" && !strings.HasPrefix(f.beside, "git:") {
		files = append(files, f.beside)
	}
	ticker := time.NewTicker(watchPoll)
	defer ticker.Stop()
	var looked, settled string // how the files looked last, and when they were read
	var done [sha256.Size]byte // what was read
	for ctx.Err() == nil {
		look := appearance(files)
		if look == looked && look != settled {
			settled = look
			if sum := contents(files); sum != done {
				done = sum
				if err := c.generateOnce(paths, f); err != nil {
					return err
				}
			}
		}
		looked = look
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return nil
}

// generateOnce is one round of watch. Only a bug of fsmgen ends it.
func (c *tool) generateOnce(paths []string, f genFlags) error {
	err := c.gen(paths, f)
	c.PointOut()
	switch {
	case err == nil && c.Quiet:
	case err == nil:
		c.Errorf("%s: up to date; waiting for the next change; stop with Ctrl-C\n", strings.Join(shownAll(paths), ", "))
	case errors.Is(err, cli.ErrFindings):
		c.Errorf("waiting for the next change; stop with Ctrl-C\n")
	case cli.IsUsage(err):
		c.Errorf("fsmgen gen: %v\nwaiting for the next change; stop with Ctrl-C\n", err)
	default:
		return err
	}
	return nil
}

func shownAll(paths []string) []string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = cli.Shown(p)
	}
	return list
}

// appearance is what is cheap to know of files: size and time of the last write.
func appearance(files []string) string {
	var b strings.Builder
	for _, name := range files {
		if info, err := os.Stat(name); err != nil {
			fmt.Fprintln(&b, "missing")
		} else {
			fmt.Fprintln(&b, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// contents tells files by their bytes, so that one that was only touched, or
// written with the same text, is not generated anew.
func contents(files []string) [sha256.Size]byte {
	h := sha256.New()
	for _, name := range files {
		data, err := cli.ReadSpec(name)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(h, "%d %t ", len(data), err == nil)
		h.Write(data)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
