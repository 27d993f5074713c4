package schemacheck

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The schema of SARIF 2.1.0 (errata 01) as OASIS publishes it. It is not copied
// into this repository; a module that ships it hands it out, and the checksum
// says that it is the one.
const (
	sarifModule = "github.com/securego/gosec/v2@v2.29.0"
	sarifFile   = "report/sarif/testdata/sarif-schema-2.1.0.json"
	sarifSum    = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
)

func sarifSchema(t *testing.T) []byte {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", sarifModule)
	cmd.Dir = t.TempDir() // no module: the version is the one above
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod download: %v\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, filepath.FromSlash(sarifFile)))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != sarifSum {
		t.Fatalf("%s of %s is another file: %x", sarifFile, sarifModule, sum)
	}
	return text
}

// Reports follow the schema of SARIF: with many findings, with one, with none.
func TestSARIF(t *testing.T) {
	t.Parallel()
	schema := compile(t, sarifSchema(t))
	fsmgen := filepath.Join(t.TempDir(), "fsmgen")
	build := exec.Command("go", "build", "-o", fsmgen, "./cmd/fsmgen")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tests := map[string]struct {
		pattern string
		results int // at least
	}{
		"fixtures": {"../../validate/testdata/*/bad*.yaml", 60},
		"shipped":  {"../../../specs/*.yaml", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(tt.pattern)
			if err != nil || len(files) == 0 {
				t.Fatalf("no files: %v", err)
			}
			out := report(t, fsmgen, files...)
			if n := validSARIF(t, schema, out); n < tt.results {
				t.Errorf("%d results, want at least %d", n, tt.results)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		// The schema refuses what is not SARIF, or the rest says nothing.
		bad := bytes.ReplaceAll(report(t, fsmgen, "../../../specs/task.yaml"), []byte(`"informationUri"`), []byte(`"informationURL"`))
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(bad))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(doc) == nil {
			t.Error("an unknown key is accepted")
		}
	})
}

// report runs the check, which may find something.
func report(t *testing.T, fsmgen string, files ...string) []byte {
	t.Helper()
	out, err := exec.Command(fsmgen, append([]string{"check", "--format", "sarif"}, files...)...).Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("check: %v", err)
	}
	return out
}

// validSARIF validates a report, also what a schema cannot say, and returns
// the number of results.
func validSARIF(t *testing.T, schema *jsonschema.Schema, text []byte) int {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v", err)
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil || len(log.Runs) != 1 {
		t.Fatalf("%d runs, want 1 (%v)", len(log.Runs), err)
	}
	rules := log.Runs[0].Tool.Driver.Rules
	for _, r := range log.Runs[0].Results {
		if r.RuleIndex < 0 || r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("result of %s has the index %d of another rule", r.RuleID, r.RuleIndex)
		}
	}
	return len(log.Runs[0].Results)
}
