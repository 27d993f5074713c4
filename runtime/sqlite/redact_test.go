package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// A text that was erased stands in no byte of the file, short or over many pages,
// after VACUUM: pages that earlier updates freed hold old values until then. The
// triggers are as they were.
func TestRedactedBytes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	store := open(t, path)
	m, err := openParcels(t, store)
	if err != nil {
		t.Fatal(err)
	}
	before := triggers(t, path)
	for i := range 4 {
		out, err := m.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "Ann Secret", Reason: "a secret reason"},
			storetest.RegisterInput{ID: fmt.Sprint("p", i), Lane: "a", Tags: fsm.NewSet("a secret tag")}))
		for n := 0; err == nil && n < 70; n++ {
			note := fsm.MustJSON(fmt.Sprintf(`{"text":%q}`, strings.Repeat("a secret note, ", 1+n*n)))
			out, err = m.Apply(t.Context(), out, storetest.Annotate(storetest.Meta{Actor: "Ann Secret", RequestID: fmt.Sprint("r", n),
				Labels: map[string]string{"of": "a secret label"}}, fsm.Some(note), fsm.Optional[string]{}, fsm.Optional[bool]{}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !found(t, path, "secret") {
		t.Error("the test finds nothing before it either")
	}
	for i := range 4 {
		o := audit.RedactOptions{Fields: []string{"note", "tags"}, Reasons: true, Labels: true, Actors: true, Actor: "root", Reason: "asked"}
		if _, redacted, err := audit.Redact(t.Context(), m, fmt.Sprint("p", i), o); !redacted || err != nil {
			t.Fatalf("redacted: %t, %v", redacted, err)
		}
	}
	sound(t, m)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db := foreign(t, path, settings)
	for _, text := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found(t, path, "secret") {
		t.Error("the file still holds what was erased")
	}
	if after := triggers(t, path); fmt.Sprint(before) != fmt.Sprint(after) || len(before) == 0 {
		t.Errorf("the triggers were %v, and are %v", before, after)
	}
}

// A trigger of the user's sees what a redaction and a repair write, and is there
// afterwards as it was.
func TestUsersTriggersWhileErasing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	m, err := openParcels(t, open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	db := foreign(t, path, settings)
	if _, err := db.Exec(`CREATE TABLE mirror (id TEXT PRIMARY KEY, note TEXT, weight INTEGER);
		CREATE TRIGGER mine AFTER UPDATE ON parcel BEGIN INSERT INTO mirror VALUES (NEW.id, NEW.note, NEW.weight)
		ON CONFLICT (id) DO UPDATE SET note = excluded.note, weight = excluded.weight; END`); err != nil {
		t.Fatal(err)
	}
	ask := func(text string) (answer string) {
		t.Helper()
		if err := db.QueryRow(text).Scan(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	out, err := m.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "ann"}, storetest.RegisterInput{ID: "p1", Lane: "a"}))
	if err == nil {
		_, err = m.Apply(t.Context(), out, storetest.Annotate(storetest.Meta{}, fsm.Some(fsm.MustJSON(`"secret"`)), fsm.Optional[string]{}, fsm.Optional[bool]{}))
	}
	if err != nil {
		t.Fatal(err)
	}
	const mirror = `SELECT coalesce(note, '') || ' ' || coalesce(weight, '') FROM mirror`
	if text := ask(mirror); !strings.Contains(text, "secret") {
		t.Fatalf("before it the mirror holds %q", text)
	}
	before := triggers(t, path)
	if _, redacted, err := audit.Redact(t.Context(), m, "p1", audit.RedactOptions{Fields: []string{"note"}, Actor: "root", Reason: "asked"}); !redacted || err != nil {
		t.Fatal(redacted, err)
	}
	if text := ask(mirror); strings.Contains(text, "secret") {
		t.Errorf("the user's mirror holds %q after the redaction", text)
	}
	update := ask(`SELECT sql FROM sqlite_master WHERE name = 'parcel_update'`)
	for _, text := range []string{`DROP TRIGGER parcel_update`, `UPDATE parcel SET weight = 77`, update} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if _, repaired, err := audit.Repair(t.Context(), m, "p1", "root", "it was edited"); !repaired || err != nil {
		t.Fatal(repaired, err)
	}
	if text := ask(mirror); strings.Contains(text, "77") {
		t.Errorf("the user's mirror holds %q after the repair", text)
	}
	if after := triggers(t, path); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the triggers were %v, and are %v", before, after)
	}
}

// found looks for a text in the bytes of a database's files.
func found(t *testing.T, path, text string) bool {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(data), []byte(text)) {
			return true
		}
	}
	return false
}
