package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// Each name of the shipped machines stands where Read says, and no reading of theirs differs from Parse.
func TestNamesStandWhereReadSays(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../specs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := spec.Read(file, src)
		m, _ := spec.Parse(file, src)
		if r.Machine == nil || r.Machine.Hash != m.Hash || len(r.Names) < len(m.States)+len(m.Operations) {
			t.Fatalf("%s: %d names", file, len(r.Names))
		}
		lines := strings.Split(string(src), "\n")
		for _, n := range r.Names {
			text := []rune(lines[n.Pos.Line-1])[n.Pos.Col-1:]
			if got := string(text[:n.Len]); got != n.Text && !n.Bare && !n.Hidden || n.Bare && got != "input" {
				t.Errorf("%s:%s: %s %s, but there stands %q", file, n.Pos, n.Kind, n.Text, got)
			}
		}
	}
}

const named = `fsm: 1
machine: job
entity: Job
otherwise: reject
fields:
  owner: optional string
  "level": low|high
  due: time
  tries: counter
states:
  open: {absent: [owner]}
  taken: {present: [owner], probe: [alive]}
  done: {terminal: true}
state_groups: {going: [open, taken]}
probes: {alive: {message: gone}}
guards:
  mine: {when: [owner == actor, "level == low", input.due > now], error: not_mine}
unique: {one: {fields: [owner], in: [going], error: busy}}
operations:
  make: {creates: open, set: {level: input, due: now}}
  take: {from: open, to: taken, require: [mine], set: {owner: actor, due: input}}
  end: {from: going, to: done, trigger: [after due], input: {note: string}, set: {level: high}, clear: [owner]}
`

// What a place names, of each kind, also behind a dot and in quotes.
func TestWhatAPlaceNames(t *testing.T) {
	t.Parallel()
	r := spec.Read("job.yaml", []byte(named))
	if r.Machine == nil {
		t.Fatal(r.Found)
	}
	lines := strings.Split(named, "\n")
	for _, want := range []struct{ line, word, is string }{
		{"  owner: opt", "owner", "field owner 6:3"},
		{`  "level"`, "level", "field level 7:3"},
		{"  mine:", "level ==", "field level 7:3"},
		{"  mine:", "low", "value low 7:12"},
		{"  mine:", "due >", "field due 8:3"},
		{"  take:", "mine", "guard mine 17:3"},
		{"  take:", "input", "field due 8:3"},
		{"  one:", "going", "state group going 14:16"},
		{"unique:", "one", "unique one 18:10"},
		{"  end:", "after due", ""},
		{"  end:", "due]", "field due 8:3"},
		{"  end:", "done", "state done 13:3"},
		{"  end:", "note", "input note 22:62"},
		{"  taken:", "alive", "probe alive 15:10"},
	} {
		for i, line := range lines {
			if strings.HasPrefix(line, want.line) {
				col := strings.Index(line, want.word) + 1
				got := ""
				for _, n := range r.Names {
					if n.Pos == (spec.Pos{Line: i + 1, Col: col}) {
						got = fmt.Sprintf("%s %s %s", n.Kind, n.Text, n.Decl)
					}
				}
				if got != want.is {
					t.Errorf("line %q, %q: it names %q, expected %q", want.line, want.word, got, want.is)
				}
			}
		}
	}
}

// Names are told where the file has errors, too; a slip names nothing.
func TestNamesOfABrokenFile(t *testing.T) {
	t.Parallel()
	r := spec.Read("job.yaml", []byte(strings.Replace(named, "to: taken", "to: takn", 1)))
	if r.Machine != nil || r.Draft == nil || !r.Found.HasErrors() {
		t.Fatalf("a machine with an error: %v", r.Found)
	}
	seen := map[spec.NameKind]int{}
	for _, n := range r.Names {
		seen[n.Kind]++
		if n.Text == "taken" && n.Pos.Line == 21 {
			t.Error("takn names the state taken")
		}
	}
	if seen[spec.StateName] < 5 || seen[spec.FieldName] < 8 {
		t.Errorf("%v", seen)
	}
	if r := spec.Read("job.yaml", []byte("states: [")); r.Draft != nil || len(r.Names) != 0 || !r.Found.HasErrors() {
		t.Error("a text that is no YAML has names")
	}
}
