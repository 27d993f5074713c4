package evolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSections(t *testing.T) {
	t.Parallel()
	got := Sections("-- head\n\n-- section: tables\nA;\n\n-- section: full\n-- why\nB;\n-- section: meta\nC;")
	want := map[string]string{"": "-- head\n\n", "tables": "A;\n\n", "full": "-- why\nB;\n", "meta": "C;"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}

// generated returns the parsed schemas of the examples, by the names of their files.
func generated(tb testing.TB, pattern string) map[string]*Schema {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "*", pattern))
	if err != nil || len(files) < 5 {
		tb.Fatalf("%d schemas: %v", len(files), err)
	}
	all := map[string]*Schema{}
	for _, name := range files {
		all[name] = parsed(tb, name)
	}
	return all
}

func parsed(tb testing.TB, file string) *Schema {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	parts := Sections(string(text))
	s, err := Parse(parts["tables"] + parts["checks"] + parts["full"])
	if err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return s
}

// A schema is the same once it is written again; no step leads from it to itself, and one
// from nothing makes all of it.
func TestSchemasAreRead(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*.sqlite.sql", "*.postgres.sql"} {
		for file, s := range generated(t, pattern) {
			machine, _, _ := strings.Cut(filepath.Base(file), ".")
			again, err := Parse(s.Script())
			if err != nil || !s.Same(again) {
				t.Errorf("%s: written again it is another one: %v", file, err)
			}
			if s.Table(machine) == nil || len(s.Table(machine).Columns) < 5 || len(s.Of("index", machine+"_events")) == 0 {
				t.Errorf("%s: the records or the indexes of their log are missing", file)
			}
			c := &Change{Machine: machine, Old: s, Next: s, Postgres: strings.Contains(pattern, "postgres")}
			if rows := c.Rows(nil); len(rows) > 0 {
				t.Errorf("%s: rows do not fit their own schema: %v", file, rows)
			}
			if c.Postgres {
				continue
			}
			if step := c.SQLite(); !cmp.Equal(step, &Step{}) {
				t.Errorf("%s: a step to itself: %+v", file, step)
			}
			c.Old = New()
			made := 0
			for _, p := range s.Pieces {
				if p.Kind != "drop" {
					made++
				}
			}
			if step := c.SQLite(); len(step.Make) != made || len(step.Drop)+len(step.Change) > 0 {
				t.Errorf("%s: a step from nothing: %+v, want %d statements", file, step, made)
			}
		}
	}
}

// A step there and one back end where they began, by their texts.
func TestStepsThereAndBack(t *testing.T) {
	t.Parallel()
	const file = "../../examples/queue/lifecycle/lifecycle.sqlite.sql"
	s := parsed(t, file)
	edit := func(from, to string) *Schema {
		text := strings.ReplaceAll(s.Script(), from, to)
		if text == s.Script() {
			t.Fatalf("%q is not in the schema", from)
		}
		next, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	for _, c := range []struct {
		name                string
		next                *Schema
		rebuilt, back       []string // tables, there and back
		gone, drops, change int
	}{
		{"a column", edit("    \"attempt\" INTEGER NOT NULL,\n", "    \"attempt\" INTEGER NOT NULL,\n    \"note\" TEXT,\n"), nil, []string{"lifecycle"}, 0, 0, 1},
		{"a column with a rule", edit("    \"attempt\" INTEGER NOT NULL,\n",
			"    \"attempt\" INTEGER NOT NULL,\n    \"note\" TEXT,\n    CONSTRAINT \"note\" CHECK (\"note\" <> ''),\n"), nil, []string{"lifecycle"}, 0, 0, 1},
		{"a rule", edit(`CHECK ("attempt" >= 0)`, `CHECK ("attempt" >= 1)`), []string{"lifecycle"}, []string{"lifecycle"}, 0, 0, 6},
		{"a rule of the log", edit(`CHECK ("n" >= 0)`, `CHECK ("n" >= -1)`), []string{"lifecycle_events"}, []string{"lifecycle_events"}, 0, 0, 8},
		{"an index", edit(`("state", "id")`, `("state")`), nil, nil, 0, 1, 0},
		{"a trigger", edit(`'fsm: lifecycle: the id never changes'`, `'fsm: lifecycle: the id stays'`), nil, nil, 0, 1, 0},
		{"only how it is written", edit(`CREATE INDEX`, "create  /* one */\n index"), nil, nil, 0, 0, 0},
	} {
		there := (&Change{Machine: "lifecycle", Old: s, Next: c.next}).SQLite()
		back := (&Change{Machine: "lifecycle", Old: c.next, Next: s}).SQLite()
		if !cmp.Equal(there.Rebuilt, c.rebuilt) || !cmp.Equal(back.Rebuilt, c.back) {
			t.Errorf("%s: rebuilt are %q and back %q, want %q and %q", c.name, there.Rebuilt, back.Rebuilt, c.rebuilt, c.back)
		}
		if len(there.Drop) != c.drops || len(there.Change) != c.change {
			t.Errorf("%s: %d drops and %d changes, want %d and %d:\n%s", c.name, len(there.Drop), len(there.Change), c.drops, c.change,
				strings.Join(append(there.Drop, there.Change...), "\n"))
		}
	}
}
