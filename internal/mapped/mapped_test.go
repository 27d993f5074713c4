package mapped_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fsmgen/fsmgen/internal/mapped"
	"github.com/fsmgen/fsmgen/spec"
)

const machine = `
fsm: 1
machine: thing
entity: Thing
otherwise: reject
requests: {request_id: optional, expected_rev: optional}
fields:
  text: optional string
  number: optional int 0..1000000
  kind: optional big | small
  flag: optional bool
  at: optional time
  length: optional duration
  note: optional json
  tags: set
states:
  open: {}
  closed: {terminal: true}
unique:
  one_text: {fields: [text], in: [open], error: text_taken}
operations:
  make:
    creates: open
    set:
      {text: input or absent, number: input or absent, kind: input or absent, flag: input or absent, at: input or absent,
       length: input or absent, note: input or absent}
  tag: {from: open, to: same, input: {tag: string}, add: {tags: input.tag}}
  close: {from: open, to: closed}
`

func parse(t *testing.T, text string) *mapped.Mapping {
	t.Helper()
	m, found := spec.Parse("thing.yaml", []byte(machine))
	if m == nil {
		t.Fatal(found)
	}
	p, wrong := mapped.Read("thing.mapping.yaml", []byte("table: old\nid: id\nstate: {column: state}\n"+text), m)
	if wrong != nil {
		t.Fatal(strings.Join(wrong, "\n"))
	}
	return p
}

// table makes a SQLite file with a table, by statements.
func table(t *testing.T, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.Join(t.TempDir(), "old.db")}).EscapedPath())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func audit(t *testing.T, db *sql.DB, p *mapped.Mapping, o mapped.Options) (lines []string) {
	t.Helper()
	o.Dialect, o.Now = "sqlite", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	r, err := mapped.Audit(t.Context(), db, p, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		line := fmt.Sprintf("%d %s %s:", f.Count, f.Check, f.Sentence())
		for _, place := range f.First {
			line += " " + place.ID + " " + place.Value + ";"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestValues(t *testing.T) {
	t.Parallel()
	p := parse(t, `fields:
  text: text
  number: {column: number, times: 100}
  kind: {column: kind, words: {B: big}}
  flag: flag
  at: {column: at, zone: Europe/Berlin}
  length: {column: length, times: 1000000}
  note: note
  tags: tags
`)
	for _, c := range []struct{ column, good, bad, says string }{
		{"text", `'x'`, `CAST(x'ff' AS TEXT)`, "text: it is not UTF-8"},
		{"number", `'12.50'`, `'12.505'`, "number: times 100 it is no whole number"},
		{"number", `12`, `'1e3'`, "number: it is no number"},
		{"number", `0.29`, `'99999999999999999999'`, "number: it is beyond 64 bits"},
		{"kind", `'B'`, `'big'`, "kind: the mapping has no such word"},
		{"flag", `'yes'`, `'maybe'`, "flag: it is neither true nor false"},
		{"at", `'2026-01-05'`, `'soon'`, "at: it is no time"},
		{"at", `'2026-01-05T10:00:00+02:00'`, `1767603600`, "at: it is a number; say with `unix` what it counts"},
		{"length", `90`, `'long'`, "length: it is no number"},
		{"note", `'{"a": 1}'`, `'{'`, "note: it is no JSON"},
		{"tags", `'["a"]'`, `'a'`, "tags: it is no JSON array of texts"},
	} {
		db := table(t, "CREATE TABLE old (id, state, text, number, kind, flag, at, length, note, tags)",
			"INSERT INTO old (id, state, "+c.column+") VALUES (1, 'open', "+c.good+"), (2, 'open', NULL), (3, 'open', "+c.bad+")")
		got := audit(t, db, p, mapped.Options{})
		if len(got) != 1 || !strings.HasPrefix(got[0], "1 field "+c.says+": 3 ") {
			t.Errorf("%s and %s: %q, want %q of 3", c.good, c.bad, got, c.says)
		}
	}
}

// A table with more places than are remembered at once is read again, and says the same.
func TestPlacesInPasses(t *testing.T) {
	t.Parallel()
	statements := []string{"CREATE TABLE old (id INTEGER PRIMARY KEY, state TEXT, text TEXT)"}
	for i := range 200 {
		statements = append(statements, fmt.Sprintf("INSERT INTO old VALUES (%d, 'open', 't%d')", i, i%150),
			fmt.Sprintf("INSERT INTO old VALUES (%d, 'closed', 't1')", 1000+i))
	}
	db := table(t, statements...)
	p := parse(t, "fields: {text: text}\n")
	for i, places := range []int{0, 300, 50, 1} {
		got := audit(t, db, p, mapped.Options{Places: places, First: 60})
		if i == 0 {
			const want = `50 unique the place of the unique rule one_text is taken: 150 text "t0", as 0;`
			if len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Fatal(got)
			}
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], "50 unique ") {
			t.Errorf("%d places at once: %s", places, got)
		}
	}
}

// What a column holds can be anything: it is told apart up to a bound.
func TestManyWords(t *testing.T) {
	t.Parallel()
	db := table(t, "CREATE TABLE old (id INTEGER PRIMARY KEY, state TEXT)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO old SELECT i, 'w' || i FROM n")
	got := audit(t, db, parse(t, ""), mapped.Options{First: 1})
	if len(got) != 501 || !strings.HasPrefix(got[0], "1500 state other rules, which are not told apart: 501 ;") {
		t.Errorf("%d findings, first %q", len(got), got[0])
	}
}
