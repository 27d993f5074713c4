package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/fsmgen/fsmgen/internal/serve/answers"
)

// maxSource bounds what is read of a file; the parser refuses less than that.
const maxSource = 8 << 20

// file is a specification as it was last read.
type file struct {
	path  string
	check Check

	mu   sync.Mutex
	text answers.Text
}

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
	if hash == f.text.Hash {
		return nil
	}
	f.text = answers.Text{Name: filepath.ToSlash(f.path), Hash: hash, Source: text}
	f.text.Machine, f.text.Found = f.check(f.text.Name, text)
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

func (f *file) now() *answers.Text {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := f.text
	return &text
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
