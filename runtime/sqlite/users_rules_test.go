package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// What a unique index or a trigger of the users' refuses is a definite refusal in the
// words of the database, for creations and for moves.
func TestRulesOfUsersAreNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parcels.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m, err := openParcels(t, store)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range []string{
		`CREATE UNIQUE INDEX own_lane ON "parcel" ("lane") WHERE "lane" = 'one'`,
		`CREATE UNIQUE INDEX own_weight ON "parcel" ("weight")`,
		`CREATE TRIGGER own_trigger BEFORE INSERT ON "parcel" WHEN NEW."lane" = 'raised' BEGIN SELECT RAISE(ABORT, 'own trigger'); END`,
		`CREATE TRIGGER own_move BEFORE UPDATE ON "parcel" BEGIN SELECT RAISE(ABORT, 'own move'); END`,
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	register := func(id, lane string, weight int64) fsmimpl.Call[storetest.Parcel] {
		return storetest.Register(storetest.Meta{RequestID: id}, storetest.RegisterInput{ID: id, Lane: lane, Weight: fsm.Some(weight)})
	}
	first, err := m.Create(t.Context(), register("one", "one", 1))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error, name string) {
		t.Helper()
		var r *fsm.Refusal
		if !errors.As(err, &r) || r.Code != fsm.ErrInvariant && r.Code != fsm.ErrDenied || r.Retry() != fsm.NoRetry || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want it refused by %s", what, err, name)
		}
	}
	for _, c := range []struct {
		lane, name string
		weight     int64
	}{{"one", "parcel.lane", 7}, {"raised", "own trigger", 7}, {"free", "parcel.weight", 1}} {
		_, err := m.Create(t.Context(), register("new", c.lane, c.weight))
		refused("a creation", err, c.name)
		_, err = m.CreateMany(t.Context(), []fsmimpl.Call[storetest.Parcel]{register("first", "free", 8), register("new", c.lane, c.weight)})
		refused("several creations", err, c.name)
	}
	_, err = m.Apply(t.Context(), first, storetest.Annotate(storetest.Meta{RequestID: "note"}, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Optional[bool]{}))
	refused("a move", err, "own move")
	if n, err := m.Count(t.Context()); err != nil || n["waiting"] != 1 {
		t.Errorf("after what was refused: %v records, %v", n, err)
	}
}
