package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/storetest"
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
		o := fsm.RedactOptions{Fields: []string{"note", "tags"}, Reasons: true, Labels: true, Actors: true, Actor: "root", Reason: "asked"}
		if _, redacted, err := m.Redact(t.Context(), fmt.Sprint("p", i), o); !redacted || err != nil {
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
