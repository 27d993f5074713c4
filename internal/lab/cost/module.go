package cost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Module writes a module with the specification big.yaml into the folder. It uses the
// repository in the folder root, and the same versions of what that needs.
func Module(dir, root, source string) error {
	text, err1 := os.ReadFile(filepath.Join(root, "go.mod"))
	sums, err2 := os.ReadFile(filepath.Join(root, "go.sum"))
	if err := errors.Join(err1, err2, os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	own := "github.com/fsmgen/fsmgen"
	needs, _, _ := strings.Cut(strings.Replace(string(text), "module "+own, "module example.com/big", 1), "\ntool ")
	needs += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %q\n", own, own, root)
	for name, data := range map[string]string{"go.mod": needs, "go.sum": string(sums), "big.yaml": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			return err
		}
	}
	return nil
}
