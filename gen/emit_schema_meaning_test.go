package gen

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/spec"
)

// meaning has one fact per state, and every kind of field, absent and present.
const meaning = `
fsm: 1
machine: meaning
entity: Thing
otherwise: reject
fields:
  a: optional int
  b: int 0..5
  s: optional string
  t: string
  w: optional small|large
  e: small|large
  k: optional time
  l: time
  q: optional bool
  p: bool
  j: optional json
  x: set
  y: set
  c: counter
  n: optional int 1..
  v: optional string 1..1
  u: string 1..2
  g: optional string 2..
invariant: [c <= 4]
states:
%s
operations:
  make: {creates: s0}
`

var meaningFacts = []string{
	"a is present", "a is absent", "a == 1", "a != 1", "a < b", "a <= 2", "a > 2", "a >= b", "b == a", "b != 3", "2 < b",
	"s is present", "s is absent", "s == t", "s != t", "t == s", "t < s", "s in x", "s not in x", "t in x", "t not in y",
	"w is absent", "w == small", "w != small", "e == large", "w == e",
	"k is present", "k < l", "k >= l", "l != k", "created_at <= l", "k == updated_at",
	"q is absent", "q == true", "q != true", "p == false", "p == q",
	"j is present", "j is absent", "x is present", "x is absent", "x covers y", "y covers x", "c >= 2", "n is present", "n > b",
	"a + b <= 3", "a - b >= c", "b + b > c + 2", "a + n != 3", "2 == a + n - c", "b - 1 < c",
}

// lasts is the same for times and lengths.
const lasts = `
fsm: 1
machine: lasts
entity: Thing
otherwise: reject
fields:
  h: optional duration
  i: duration
  b: duration 1ms..1h
  k: optional time
  l: time
  c: counter
states:
%s
operations:
  make: {creates: s0}
`

var lengthFacts = []string{
	"h is present", "h == i", "h != 1ms", "i < h", "b >= 1ms", "i + h <= b", "h + i - 1ms > b", "i + 20m + 30m > h",
	"k <= l + i", "k == l + 1ms", "k != l - h", "l + i >= k - 1ms", "k - l < i", "k - l == h - b", "l - k + i > 0s", "k + i - h < l",
	"created_at + i <= l", "updated_at > k - h", "k - l + created_at >= l",
	"i <= backoff 1ms to 5ms by c", "i > backoff h to b by c", "l < k + backoff 1s to 36500d by c", "h == backoff b to 4ms by c",
	"b == backoff i to 4ms by c",
}

func meaningMachine(t *testing.T, text string, facts []string) *spec.Machine {
	t.Helper()
	var states strings.Builder
	for i, f := range facts {
		fmt.Fprintf(&states, "  s%d: {invariant: [%q]}\n", i, f)
	}
	m, diags := spec.Parse("meaning.yaml", []byte(fmt.Sprintf(text, states.String())))
	if m == nil {
		t.Fatalf("parse: %v", diags)
	}
	return m
}

// A schema takes a record exactly when the interpreter finds nothing wrong with it.
func TestSchemaMeansWhatTheInterpreterMeans(t *testing.T) {
	t.Parallel()
	meaningOf(t, meaningMachine(t, meaning, meaningFacts))
}

// With times and lengths, too.
func TestSchemaAddsLengthsAsTheInterpreterDoes(t *testing.T) {
	t.Parallel()
	meaningOf(t, meaningMachine(t, lasts, lengthFacts))
}

func meaningOf(t *testing.T, m *spec.Machine) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		compareMeaning(t, m, db, sqliteDialect(), sqliteSchema(m, enforceChecks))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := pgtest.Open(t)
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("SET synchronous_commit = off"); err != nil {
			t.Fatal(err)
		}
		compareMeaning(t, m, db, postgresDialect(), postgresSchema(m, enforceChecks))
	})
}

func compareMeaning(t *testing.T, m *spec.Machine, db *sql.DB, d sqlDialect, schema []byte) {
	t.Helper()
	if _, err := db.Exec(string(schema)); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	taken, refused := 0, 0
	for _, st := range m.States {
		for i := range 150 {
			r := randomRecord(m, random, fmt.Sprintf("%s-%d", st.Name, i)).In(st)
			statement := insertRecord(m, d, r)
			_, err := db.Exec(statement)
			violations := interp.Check(m, r)
			if (err == nil) != (len(violations) == 0) {
				t.Errorf("state %s (%s): the database says %v, the interpreter %v\n%s", st.Name, st.Invariant[0].Text, err, violations, statement)
			}
			if err == nil {
				taken++
			} else {
				refused++
			}
		}
	}
	if taken < 500 || refused < 500 {
		t.Errorf("%d records were taken and %d refused: the test shows too little", taken, refused)
	}
}

var meaningStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func randomRecord(m *spec.Machine, random *rand.Rand, id string) interp.Record {
	r := interp.NewRecord(m, id)
	at := func() time.Time { return meaningStart.Add(time.Duration(random.IntN(3)) * time.Microsecond) }
	near := func(list ...int64) int64 { return list[random.IntN(len(list))] }
	long := len(lasting(m)) > 0
	if long {
		at = func() time.Time {
			return meaningStart.Add(time.Duration(near(0, 1, 999, 1000, 1001, 2000)) * time.Microsecond)
		}
	}
	r.Rev, r.CreatedAt, r.UpdatedAt = 1, at(), at()
	words := []string{"", "a", "b", "Z", "ä", "a'b", "äö"}
	members := func() interp.Value {
		var list []string
		for range random.IntN(3) {
			list = append(list, words[random.IntN(len(words))])
		}
		return interp.Set(list...)
	}
	for i, f := range m.Fields {
		if f.Type.Optional && random.IntN(3) == 0 {
			r.Fields[i] = interp.Absent
			continue
		}
		switch f.Type.Kind {
		case spec.KindInt:
			r.Fields[i] = interp.Int(int64(random.IntN(6)))
		case spec.KindCounter:
			r.Fields[i] = interp.Int(int64(random.IntN(6)))
			if long {
				r.Fields[i] = interp.Int(near(0, 0, 1, 2, 3, 31, 32, 62, 63, 64, 65, 1<<62))
			}
		case spec.KindDuration:
			r.Fields[i] = interp.Span(near(0, 1, 999, 1000, 1001, 2000, 4000, 5000, 3_600_000_000, spec.MaxSpan, spec.MaxSpan+random.Int64N(2)))
		case spec.KindString:
			r.Fields[i] = interp.String(words[random.IntN(len(words))])
		case spec.KindBool:
			r.Fields[i] = interp.Bool(random.IntN(2) == 0)
		case spec.KindTime:
			r.Fields[i] = interp.Time(at())
		case spec.KindJSON:
			r.Fields[i] = interp.JSON([]string{"null", `{"a":1}`, "[]"}[random.IntN(3)])
		case spec.KindEnum:
			r.Fields[i] = interp.Word(f.Type.Values[random.IntN(2)].Name)
		case spec.KindSet:
			r.Fields[i] = members()
		}
	}
	return r
}

func insertRecord(m *spec.Machine, d sqlDialect, r interp.Record) string {
	names := []string{`"id"`, `"state"`, `"rev"`, `"created_at"`, `"updated_at"`}
	values := []string{quoteText(r.ID), quoteText(r.State.Stored()), "1", timeLiteral(d, r.CreatedAt), timeLiteral(d, r.UpdatedAt)}
	for i, f := range m.Fields {
		names = append(names, column(f))
		values = append(values, literalOf(d, f, r.Fields[i]))
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", quoteName(m.Name), strings.Join(names, ", "), strings.Join(values, ", "))
}

func timeLiteral(d sqlDialect, at time.Time) string {
	if d.time == "INTEGER" {
		return fmt.Sprint(at.UnixMicro())
	}
	return quoteText(at.Format(time.RFC3339Nano))
}

func literalOf(d sqlDialect, f *spec.Field, v interp.Value) string {
	switch {
	case f.Type.Kind == spec.KindSet:
		var items []string
		for _, item := range v.Members() {
			items = append(items, `"`+item+`"`)
		}
		return quoteText("[" + strings.Join(items, ",") + "]")
	case v == interp.Absent:
		return "NULL"
	case f.Type.Kind == spec.KindTime:
		return timeLiteral(d, v.AsTime())
	case f.Type.Kind == spec.KindBool && v.Num != 0:
		return d.yes
	case f.Type.Kind == spec.KindBool:
		return d.no
	case slices.Contains([]spec.Kind{spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindDuration}, f.Type.Kind):
		return fmt.Sprint(v.Num)
	}
	return quoteText(v.Text)
}

// projected has every condition and aggregate of a projection.
const projected = `
fsm: 1
machine: part
entity: Part
otherwise: reject
fields:
  owner: optional string
  kind: small|large
  size: optional int
states:
  new: {}
  half: {}
  full: {}
  lost: {terminal: true}
operations:
  make: {creates: new, set: {owner: input or absent, kind: input}}
projection:
  entity: HTTPWhole
  key: [owner, kind]
  fields: {biggest: max size, smallest: min size, parts: count}
  rules:
    - {state: broken, any: [lost], at_least: 2}
    - {state: ready, all: [full], none: [lost], at_least: 3}
    - {state: short, all: [full, half], none: [half]}
    - {state: quiet, none: [half, lost]}
    - {state: other}
  transitions: [{from: quiet, to: other}]
`

// The view shows what the interpreter projects.
func TestViewMeansWhatTheInterpreterMeans(t *testing.T) {
	t.Parallel()
	m, diags := spec.Parse("part.yaml", []byte(projected))
	if m == nil {
		t.Fatalf("parse: %v", diags)
	}
	if got := viewName(m); got != "part_http_whole" {
		t.Errorf("the view is named %q", got)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		compareView(t, m, db, sqliteDialect(), sqliteSchema(m, enforceChecks))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		compareView(t, m, pgtest.Open(t), postgresDialect(), postgresSchema(m, enforceChecks))
	})
}

func compareView(t *testing.T, m *spec.Machine, db *sql.DB, d sqlDialect, schema []byte) {
	t.Helper()
	if _, err := db.Exec(string(schema)); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	var records []interp.Record
	for i := range 400 {
		r := interp.NewRecord(m, fmt.Sprint(i)).In(m.States[random.IntN(len(m.States))])
		r.Rev, r.CreatedAt, r.UpdatedAt = 1, meaningStart, meaningStart
		if group := random.IntN(60); group > 0 {
			r = r.With(m, "owner", interp.String(fmt.Sprint("o", group)))
			if group%4 == 0 { // a group whose parts are alike
				r = r.In(m.States[group%len(m.States)/2+1])
			}
		}
		r = r.With(m, "kind", interp.Word([]string{"small", "large"}[random.IntN(2)]))
		if random.IntN(3) > 0 {
			r = r.With(m, "size", interp.Int(int64(random.IntN(9))))
		}
		records = append(records, r)
		if _, err := db.Exec(insertRecord(m, d, r)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{}
	states := map[string]int{}
	for _, p := range interp.Project(m, records) {
		key := fmt.Sprint(p.Key[0].Text, "/", p.Key[1].Text)
		want[key] = fmt.Sprint(p.State, " ", p.Fields["biggest"], " ", p.Fields["smallest"], " ", p.Fields["parts"])
		states[p.State]++
	}
	rows, err := db.Query(`SELECT "owner", "kind", "state", "biggest", "smallest", "parts" FROM "part_http_whole"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	number := func(n sql.NullInt64) string {
		if !n.Valid {
			return "absent"
		}
		return fmt.Sprint(n.Int64)
	}
	for rows.Next() {
		var owner, kind, state string
		var biggest, smallest, parts sql.NullInt64
		if err := rows.Scan(&owner, &kind, &state, &biggest, &smallest, &parts); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(state, " ", number(biggest), " ", number(smallest), " ", number(parts))
		if key := owner + "/" + kind; got != want[key] {
			t.Errorf("group %s: the view says %q, the interpreter %q", key, got, want[key])
		} else {
			delete(want, key)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for key := range want {
		t.Errorf("group %s is not in the view", key)
	}
	if len(states) < 5 {
		t.Errorf("only the states %v occur: the test shows too little", states)
	}
}
