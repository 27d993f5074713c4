package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// What a unique index, a CHECK or a trigger of the users' refuses is a definite refusal that
// names it: for creations, by themselves and in batches, and for moves.
func TestRulesOfUsersAreNamed(t *testing.T) {
	t.Parallel()
	_, db, open := ground(t)
	_, m := open()
	if _, err := db.Exec(`CREATE UNIQUE INDEX own_lane ON "parcel" ("lane") WHERE "lane" = 'one';
		CREATE UNIQUE INDEX own_weight ON "parcel" ("weight");
		CREATE UNIQUE INDEX own_size ON "parcel" ((1)) WHERE "size" = 'small' OR "lane" = 'one';
		ALTER TABLE "parcel" ADD CONSTRAINT own_check CHECK ("lane" <> 'checked');
		CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN IF NEW."lane" = 'raised' THEN RAISE EXCEPTION 'own trigger'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER own_trigger BEFORE INSERT ON "parcel" FOR EACH ROW EXECUTE FUNCTION own()`); err != nil {
		t.Fatal(err)
	}
	register := func(id, lane string, weight int64) fsmimpl.Call[storetest.Parcel] {
		return storetest.Register(storetest.Meta{RequestID: id}, storetest.RegisterInput{ID: id, Lane: lane, Weight: fsm.Some(weight)})
	}
	for i, lane := range []string{"one", "other"} {
		if _, err := m.Create(t.Context(), register(lane, lane, int64(i))); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string, err error, name string) {
		t.Helper()
		var r *fsm.Refusal
		if !errors.As(err, &r) || r.Code != fsm.ErrInvariant && r.Code != fsm.ErrDenied || r.Retry() != fsm.NoRetry || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want it refused by %s", what, err, name)
		}
	}
	for lane, name := range map[string]string{"one": "own_lane", "checked": "own_check", "raised": "own trigger"} {
		_, err := m.Create(t.Context(), register("new", lane, 7))
		refused("a creation", err, name)
		_, err = m.CreateMany(t.Context(), []fsmimpl.Call[storetest.Parcel]{register("first", "free", 8), register("new", lane, 9)})
		refused("several creations", err, name)
	}
	_, err := m.Create(t.Context(), register("new", "free", 1))
	refused("a creation", err, "own_weight")
	held, err := m.Record(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Apply(t.Context(), held, storetest.Annotate(storetest.Meta{RequestID: "note"}, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Optional[bool]{}))
	refused("a move", err, "own_size")
	if n, err := m.Count(t.Context()); err != nil || n["waiting"] != 2 {
		t.Errorf("after what was refused: %v records, %v", n, err)
	}
	if _, err := m.Create(t.Context(), register("new", "free", 10)); err != nil {
		t.Errorf("the request of a refused creation: %v", err)
	}
}
