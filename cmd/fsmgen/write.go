package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/gen/chart"
)

// mark is how a file says that it is ours: what stands before and behind the
// header in its line, and how its first line begins where that is another one.
type mark struct{ before, behind, first string }

// marked are the files that can be marked as ours, by extension. Only files
// that carry their mark are ever overwritten.
var marked = map[string]mark{
	".go":   {before: "// "},
	".sql":  {before: "-- "},
	".mmd":  {before: "%% ", first: "---"},
	".dot":  {before: "// "},
	".svg":  {before: "<!-- ", behind: " -->", first: "<svg "},
	".png":  {first: "\x89PNG"},
	".md":   {before: "<!-- ", behind: " -->"},
	".json": {before: `    "generated": "`, behind: `",`, first: "{"},
	".csv":  {before: "operation (", behind: rest},
}

// rest stands for whatever follows the mark in its line.
const rest = "..."

// headerLines is how far into a file the header may stand: a Mermaid file
// begins with its title.
const headerLines = 10

// isGenerated reports whether data, the content of a file of that name, was
// written by fsmgen. The header stands in the first line, or in one of the next
// lines of a file that begins as only ours do: somebody's own file may quote it
// further down.
func isGenerated(name string, data []byte) bool {
	m, ok := marked[filepath.Ext(name)]
	if !ok {
		return false
	}
	header := m.before + chart.Header + m.behind
	lines := 1
	if m.first != "" && bytes.HasPrefix(data, []byte(m.first)) {
		lines = headerLines
	}
	for i, line := range bytes.SplitN(data, []byte("\n"), lines+1) {
		text := string(bytes.TrimRight(line, "\r"))
		if i < lines && (text == header || m.behind == rest && strings.HasPrefix(text, strings.TrimSuffix(header, rest))) {
			return true
		}
	}
	return false
}

// status says what a file on disk is, compared with what belongs there.
type status = string

const (
	statusMissing   status = "missing"
	statusDiffers   status = "differs"
	statusUnchanged status = "unchanged"
	statusForeign   status = "foreign" // not written by fsmgen: never touched
	statusStale     status = "stale"   // written by fsmgen earlier, no longer produced
)

// target is one file that belongs on disk.
type target struct {
	path   string
	data   []byte
	status status
}

// compare looks at the disk and sets the status of t.
func (t *target) compare() error {
	info, err := os.Lstat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.status = statusMissing
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		t.status = statusForeign
		return nil
	}
	old, err := os.ReadFile(t.path)
	switch {
	case err != nil:
		return err
	case bytes.Equal(old, t.data):
		t.status = statusUnchanged
	case isGenerated(t.path, old):
		t.status = statusDiffers
	default:
		t.status = statusForeign
	}
	return nil
}

// generatedExt are the extensions of what `gen` writes.
var generatedExt = map[string]bool{".go": true, ".sql": true, ".svg": true, ".mmd": true}

// staleFiles lists the files in dir that fsmgen wrote and that are not in keep.
// A folder holds one package and so one machine; only a diagram of another
// name may have been put there by `fsmgen diagram -o`.
func staleFiles(dir, machine string, keep []*target) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var stale []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		ext := filepath.Ext(path)
		if !generatedExt[ext] || !e.Type().IsRegular() || (ext == ".mmd" || ext == ".svg") && e.Name() != machine+ext {
			continue
		}
		if slices.ContainsFunc(keep, func(t *target) bool { return t.path == path }) {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if isGenerated(path, data) {
			stale = append(stale, path)
		}
	}
	return stale, nil
}

// writeAll puts the targets that are missing or differ on disk: every one is
// first written and synced beside its place, and only when all are there are
// they renamed. So a full disk or a read-only folder leaves everything as it
// was, and no reader ever sees half a file.
func writeAll(targets []*target) (err error) {
	type move struct{ temp, path string }
	var moves []move
	var made []string // folders that did not exist before
	defer func() {
		if err == nil {
			return
		}
		for _, m := range moves {
			err = errors.Join(err, removeIfThere(m.temp))
		}
		for _, dir := range slices.Backward(made) {
			_ = os.Remove(dir) // only when empty: somebody may have put a file there meanwhile
		}
	}()
	var changed []*target
	for _, t := range targets {
		if t.status != statusMissing && t.status != statusDiffers {
			continue
		}
		changed = append(changed, t)
		dirs, err := makeDir(filepath.Dir(t.path))
		made = append(made, dirs...)
		if err != nil {
			return err
		}
	}
	temps, failed := writeTemps(changed)
	for i, temp := range temps {
		if temp != "" {
			moves = append(moves, move{temp, changed[i].path})
		}
	}
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	dirs := make(map[string]bool)
	for _, m := range moves {
		if err := os.Rename(m.temp, m.path); err != nil {
			return err
		}
		dirs[filepath.Dir(m.path)] = true
	}
	for dir := range dirs {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// leftoverAge is how old a file of writeTemp is when nobody writes it any longer.
const leftoverAge = 10 * time.Minute

var leftoverName = regexp.MustCompile(`^\.(.+)\.fsmgen[0-9]+$`)

// removeLeftovers removes what a killed process left beside the targets.
func removeLeftovers(targets []*target) {
	ours := make(map[string]bool)
	dirs := make(map[string]bool)
	for _, t := range targets {
		ours[t.path], dirs[filepath.Dir(t.path)] = true, true
	}
	for dir := range dirs {
		entries, _ := os.ReadDir(dir) // a folder that cannot be read holds nothing to remove
		for _, e := range entries {
			name := leftoverName.FindStringSubmatch(e.Name())
			if len(name) < 2 || !ours[filepath.Join(dir, name[1])] {
				continue
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > leftoverAge {
				_ = os.Remove(filepath.Join(dir, e.Name())) // the next run tries again
			}
		}
	}
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeDir makes dir and its parents, and returns those that were not there.
func makeDir(dir string) ([]string, error) {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || filepath.Dir(d) == d {
			break
		}
		missing = append(missing, d)
	}
	slices.Reverse(missing)
	return missing, os.MkdirAll(dir, 0o777) // the umask decides, as for every source file
}

// syncs is how many files are written at the same time: the disk syncs several
// at once in little more time than one.
const syncs = 8

// writeTemps is writeTemp for each of the targets.
func writeTemps(targets []*target) (names []string, failed []error) {
	names, failed = make([]string, len(targets)), make([]error, len(targets))
	slots := make(chan struct{}, syncs)
	var all sync.WaitGroup
	for i, t := range targets {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			names[i], failed[i] = writeTemp(t)
		})
	}
	all.Wait()
	return names, failed
}

// writeTemp writes and syncs the data of t beside its place. The name that it
// returns is to be removed even when there is an error.
func writeTemp(t *target) (name string, err error) {
	dir, base := filepath.Split(t.path)
	temp := filepath.Join(dir, fmt.Sprintf(".%s.fsmgen%d", base, os.Getpid()))
	mode := fs.FileMode(0o666)
	if info, err := os.Stat(t.path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := removeIfThere(temp); err != nil { // of a killed process that had our id
		return "", err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(t.data); err != nil {
		return temp, err
	}
	return temp, f.Sync()
}

// syncDir makes the renames in dir durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
