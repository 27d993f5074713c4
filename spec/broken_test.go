package spec_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the goldens anew")

// slowest is the longest that any file may take.
const slowest = 2 * time.Second

var marker = regexp.MustCompile(`«(FSM[0-9]{3})»`)

// unmark removes the marks «FSM010» from a text and returns the findings that
// they announce, as "FSM010 4:12".
func unmark(text string) (string, []string) {
	var want []string
	var out strings.Builder
	for text != "" {
		loc := marker.FindStringSubmatchIndex(text)
		if loc == nil {
			break
		}
		out.WriteString(text[:loc[0]])
		before := out.String()
		line := strings.Count(before, "\n") + 1
		col := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
		want = append(want, fmt.Sprintf("%s %d:%d", text[loc[2]:loc[3]], line, col))
		text = text[loc[1]:]
	}
	return out.String() + text, want
}

// parseTimed parses and fails when it takes too long or leaves the contract of
// Parse.
func parseTimed(t testing.TB, file string, src []byte) (*spec.Machine, spec.Diagnostics) {
	t.Helper()
	start, used := time.Now(), cpuTime()
	m, ds := spec.Parse(file, src)
	if took := min(time.Since(start), cpuTime()-used); took > slowest {
		t.Errorf("took %v, want at most %v", took, slowest)
	}
	if (m == nil) != ds.HasErrors() {
		t.Errorf("machine %t, errors %t: want exactly one of them", m != nil, ds.HasErrors())
	}
	sorted := append(spec.Diagnostics(nil), ds...)
	sorted.Sort()
	if diff := cmp.Diff(sorted, ds); diff != "" {
		t.Errorf("findings are not sorted (-want +got):\n%s", diff)
	}
	lines := bytes.Count(src, []byte{'\n'}) + 1
	for _, d := range ds {
		if d.Pos.Line < 1 || d.Pos.Line > lines || d.Pos.Col < 1 || d.File != file || d.Message == "" {
			t.Errorf("finding without a place in the file: %+v", d)
		}
		if !strings.HasSuffix(spec.Render(d, spec.Lines(src)), "\n") {
			t.Errorf("finding is not rendered: %+v", d)
		}
	}
	return m, ds
}

func TestBroken(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/broken/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	total := 0
	for _, path := range archives {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		golden := map[string][]byte{}
		for _, f := range ar.Files {
			if name, ok := strings.CutSuffix(f.Name, ".txt"); ok {
				golden[name] = f.Data
			}
		}
		var fresh []txtar.File
		for _, f := range ar.Files {
			name, ok := strings.CutSuffix(f.Name, ".yaml")
			if !ok {
				continue
			}
			total++
			text, want := unmark(string(f.Data))
			var rendered strings.Builder
			t.Run(filepath.Base(path)+"/"+name, func(t *testing.T) {
				_, ds := parseTimed(t, f.Name, []byte(text))
				var got []string
				for _, d := range ds {
					got = append(got, d.Code+" "+d.Pos.String())
					rendered.WriteString(spec.Render(d, spec.Lines([]byte(text))))
				}
				if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
					t.Errorf("findings (-want +got):\n%s%s", diff, rendered.String())
				}
				if diff := cmp.Diff(string(golden[name]), rendered.String()); diff != "" && !*update {
					t.Errorf("text (-want +got):\n%s", diff)
				}
			})
			fresh = append(fresh, f, txtar.File{Name: name + ".txt", Data: []byte(rendered.String())})
		}
		if *update {
			ar.Files = fresh
			if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if total < 60 {
		t.Errorf("%d broken specifications, want at least 60", total)
	}
}

// archiveTexts returns the specifications of all goldens.
func archiveTexts(t testing.TB) []string {
	t.Helper()
	var texts []string
	for _, pattern := range []string{"testdata/broken/*.txtar", "testdata/language/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range ar.Files {
				if strings.HasSuffix(f.Name, ".yaml") {
					text, _ := unmark(string(f.Data))
					texts = append(texts, text)
				}
			}
		}
	}
	return texts
}
