package gen

import (
	"database/sql"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/spec"
)

const setMachine = `
fsm: 1
machine: bag
entity: Bag
otherwise: reject
fields:
  t: string
  x: set
states:
  open: {}
operations:
  make: {creates: open, set: {t: input}}
  put: {from: open, to: same, add: {x: input}}
`

// A database takes as a set exactly the arrays of strings that are sorted bytewise,
// each once, in a row that comes and in one that changes. It looks into a set when
// that changes, and not for the sake of another field.
func TestSchemaOfSets(t *testing.T) {
	t.Parallel()
	m, diags := spec.Parse("bag.yaml", []byte(setMachine))
	if m == nil {
		t.Fatalf("parse: %v", diags)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		schema := string(sqliteSchema(m, enforceChecks))
		mustExec(t, db, schema)
		compareSets(t, db, `INSERT INTO "bag" VALUES ('i', 'open', 1, 0, 0, 't', `)
		mustExec(t, db, `DROP TRIGGER "bag_update_sets"`)
		mustExec(t, db, `UPDATE "bag" SET "x" = '["b","a"]' WHERE "id" = 'u'`)
		mustExec(t, db, schema)
		mustExec(t, db, `UPDATE "bag" SET "t" = 'another' WHERE "id" = 'u'`)
		if _, err := db.Exec(`UPDATE "bag" SET "x" = '["b","a","c"]' WHERE "id" = 'u'`); err == nil {
			t.Error("a set that changes is not looked into")
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := pgtest.Open(t)
		db.SetMaxOpenConns(1)
		mustExec(t, db, string(postgresSchema(m, enforceChecks)))
		compareSets(t, db, `INSERT INTO "bag" VALUES ('i', 'open', 1, now(), now(), 't', `)
	})
}

func mustExec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
}

// compareSets inserts and updates rows with sets of all forms; insert lacks the set.
func compareSets(t *testing.T, db *sql.DB, insert string) {
	t.Helper()
	mustExec(t, db, strings.Replace(insert, "'i'", "'u'", 1)+`'[]', 0)`)
	random := rand.New(rand.NewPCG(3, 4))
	taken, refused := 0, 0
	for range 400 {
		text := randomSet(random)
		want := isSet(text)
		quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
		for _, statement := range []string{insert + quoted + ", 0)", `UPDATE "bag" SET "x" = ` + quoted + ` WHERE "id" = 'u'`} {
			if _, err := db.Exec(statement); (err == nil) != want {
				t.Errorf("%s\ngot %v, want it taken: %v", statement, err, want)
			}
		}
		mustExec(t, db, `DELETE FROM "bag" WHERE "id" = 'i'`)
		if want {
			taken++
		} else {
			refused++
		}
	}
	if taken < 80 || refused < 80 {
		t.Errorf("%d sets are taken and %d refused: the test shows too little", taken, refused)
	}
}

// randomSet returns a JSON text: often a set, sometimes nearly one.
func randomSet(random *rand.Rand) string {
	words := []string{`"a"`, `"b"`, `"B"`, `"ä"`, `"z"`, `"a'b"`, `"\u0061a"`, `"10"`, `"9"`, `""`, `"😀"`, `"\uFFFD"`}
	strange := []string{`1`, `null`, `["a"]`, `{"a":1}`, `true`, `"a"`}
	var list []string
	for range random.IntN(6) {
		list = append(list, words[random.IntN(len(words))])
	}
	if random.IntN(3) > 0 { // sorted, each once
		slices.SortFunc(list, func(a, b string) int { return strings.Compare(unquoted(a), unquoted(b)) })
		list = slices.Compact(list)
	}
	if random.IntN(6) == 0 {
		list = append(list, strange[random.IntN(len(strange))])
	}
	if random.IntN(12) == 0 {
		return strange[random.IntN(len(strange))]
	}
	return "[" + strings.Join(list, []string{",", ", "}[random.IntN(2)]) + "]"
}

func unquoted(text string) (s string) {
	_ = json.Unmarshal([]byte(text), &s)
	return s
}

func isSet(text string) bool {
	var items []*string
	if text == "null" || json.Unmarshal([]byte(text), &items) != nil || slices.Contains(items, nil) {
		return false
	}
	for i := 1; i < len(items); i++ {
		if *items[i] <= *items[i-1] {
			return false
		}
	}
	return true
}
