package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the goldens anew")

// shipped are the machines of the repository and those in testdata, by name.
func shipped(t *testing.T) map[string]*spec.Machine {
	t.Helper()
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d specifications, expected five: %v", len(files), err)
	}
	own, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(own) == 0 {
		t.Fatalf("no specification in testdata: %v", err)
	}
	ms := make(map[string]*spec.Machine)
	for _, f := range append(files, own...) {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, found := spec.Parse(f, src)
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		ms[m.Name] = m
	}
	return ms
}

// What the goldens say is held against programs of the formats: XState and, for
// SCXML, SCION in `make exports-check` (see TestWalks), Qt's compiler in TestQt.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, m := range shipped(t) {
		x, err := XState(m)
		if err != nil {
			t.Fatal(err)
		}
		c, err := CSV(m)
		if err != nil {
			t.Fatal(err)
		}
		for ext, got := range map[string][]byte{".xstate.json": x, ".csv": c, ".md": Matrix(m), ".scxml": SCXML(m)} {
			file := filepath.Join("testdata", name+ext)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s changed; run with -update if that is meant (-want +got):\n%s", file, diff)
			}
			if !bytes.Contains(got, []byte(header)) {
				t.Errorf("%s does not say who made it", file)
			}
		}
		if !json.Valid(x) {
			t.Errorf("%s: no JSON", name)
		}
	}
}

// The matrix says of each cell what the machine says.
func TestMatrixClasses(t *testing.T) {
	t.Parallel()
	for name, m := range shipped(t) {
		data, err := CSV(m)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != len(m.Operations)+1 {
			t.Fatalf("%s has %d rows", name, len(rows))
		}
		for i, o := range m.Operations {
			for j, s := range m.States {
				got := rows[i+1][4+j]
				want := m.Class(s, o)
				ok := len(o.Creates) > 0 && got == "" ||
					want == spec.Reject && got == "reject" || want == spec.RecordOnly && got == "record_only" ||
					want == spec.Transition && slices.ContainsFunc(strings.Split(got, " | "), func(to string) bool { return m.State(to) != nil })
				if !ok && len(o.Creates) == 0 || len(o.Creates) > 0 && got != "" {
					t.Errorf("%s: %s in %s is %q, the machine says %v", name, o.Name, s.Name, got, want)
				}
			}
		}
	}
}

// SCXML is XML, and every target is a state of it.
func TestSCXMLTargets(t *testing.T) {
	t.Parallel()
	for name, m := range shipped(t) {
		ids, targets := make(map[string]bool), []string{}
		d := xml.NewDecoder(bytes.NewReader(SCXML(m)))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range e.Attr {
				switch {
				case a.Name.Local == "id" && e.Name.Local != "data":
					ids[a.Value] = true
				case a.Name.Local == "target" && e.Name.Local == "transition" || a.Name.Local == "initial":
					targets = append(targets, a.Value)
				}
			}
		}
		for _, target := range targets {
			if !ids[target] {
				t.Errorf("%s: no state %q", name, target)
			}
		}
		for _, s := range m.States {
			if !ids[s.Name] {
				t.Errorf("%s: the state %q is missing", name, s.Name)
			}
		}
	}
}

// Qt's compiler for SCXML reads the charts, and refuses a broken one.
func TestQt(t *testing.T) {
	t.Parallel()
	compiler, err := exec.LookPath("/usr/lib/qt6/libexec/qscxmlc")
	if err != nil {
		compiler, err = exec.LookPath("qscxmlc")
	}
	if err != nil {
		t.Skip("qscxmlc is missing (Debian: libqt6scxml6-bin): no program has read the SCXML")
	}
	compile := func(name string, data []byte) (string, error) {
		dir := t.TempDir()
		file := filepath.Join(dir, name+".scxml")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(compiler, "--header", filepath.Join(dir, "out.h"), "--impl", filepath.Join(dir, "out.cpp"), file)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for name, m := range shipped(t) {
		if out, err := compile(name, SCXML(m)); err != nil || out != "" {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	broken := bytes.ReplaceAll(SCXML(shipped(t)["task"]), []byte(`target="running"`), []byte(`target="runnin"`))
	if out, err := compile("broken", broken); err == nil {
		t.Errorf("a chart with a target that is missing was accepted: %s", out)
	}
}
