package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// maxSource bounds what is read of a file; the parser refuses less than that.
const maxSource = 8 << 20

// file is a specification as it was last read.
type file struct {
	path  string
	check Check

	mu      sync.Mutex
	hash    string
	text    []byte
	machine *spec.Machine // nil when it cannot be understood
	found   spec.Diagnostics
}

// version is a file at one time. Its parts are not changed.
type version struct {
	name    string // as findings show it
	hash    string
	text    []byte
	machine *spec.Machine
	found   spec.Diagnostics
}

// usable reports whether the machine can be drawn and stepped through.
func (v version) usable() bool { return v.machine != nil && !v.found.HasErrors() }

// refresh reads the file, and checks it when it is another one than before.
func (f *file) refresh() error {
	text, err := readFile(f.path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	f.mu.Lock()
	defer f.mu.Unlock()
	if hash == f.hash {
		return nil
	}
	f.machine, f.found = f.check(filepath.ToSlash(f.path), text)
	f.hash, f.text = hash, text
	return nil
}

// problem says what is wrong with a file that cannot be read, and what to do.
func (f *file) problem(err error) string {
	what := " cannot be read: " + err.Error() + "."
	if errors.Is(err, fs.ErrNotExist) {
		what = " is gone. Put it back, or start the command again with the path that the file has now."
	}
	return filepath.ToSlash(f.path) + what + " This page shows it as soon as it can be read."
}

func (f *file) now() version {
	f.mu.Lock()
	defer f.mu.Unlock()
	return version{name: filepath.ToSlash(f.path), hash: f.hash, text: f.text, machine: f.machine, found: f.found}
}

func readFile(path string) (text []byte, err error) {
	r, err := os.Open(path) //nolint:gosec // a path of the command line
	if err != nil {
		return nil, err
	}
	text, err = io.ReadAll(io.LimitReader(r, maxSource))
	if e := r.Close(); err == nil {
		err = e
	}
	return text, err
}

// sourceLines are the lines of a file as a page shows them: without what would
// turn the order of the letters around.
func sourceLines(text []byte) []string {
	text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
	shown := strings.Map(func(c rune) rune {
		if c != '\t' && c != '\n' && c != '\r' && (unicode.IsControl(c) || c == utf8.RuneError || unicode.Is(unicode.Bidi_Control, c)) {
			return '\ufffd'
		}
		return c
	}, string(text))
	lines := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}
