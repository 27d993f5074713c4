package claims_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/claims/desk"
	"github.com/fsmgen/fsmgen/internal/lab/claims/desk2"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/internal/validate"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/spec"
)

// Two versions work side by side. For the older one a lock is enough to count, for the later one it is not. Whichever
// comes first, they do not pass the limit together.
func TestCountsOfTwoVersions(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	store := server(t, dsn)
	if err := desk.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	one, err := desk.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	later(t, dsn)
	two, err := desk2.Open(t.Context(), server(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	by := fsm.Call{Actor: "ann"}
	refused := func(err error) bool {
		return errors.Is(err, fsm.ErrGuard) || errors.Is(err, fsm.ErrNothingToDo) || errors.Is(err, fsm.ErrBusy)
	}
	var won [2]int
	for i := range 2 * rounds() {
		for j := range 3 {
			in := desk.SubmitInput{Tenant: fmt.Sprint("t", i), Queue: fmt.Sprint("q", i, j)}
			if _, err := one.Submit(t.Context(), fmt.Sprintf("p%d-%d", i, j), in, by); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := one.Claim(t.Context(), by); err != nil {
			t.Fatal(err)
		}
		var claimed [2]error
		first := func() { _, claimed[0] = one.Claim(t.Context(), by) }
		second := func() { _, claimed[1] = two.Claim(t.Context(), by) }
		if i%2 == 0 {
			meet(i/2, first, second)
		} else {
			meet(i/2, second, first)
		}
		for v, err := range claimed {
			if err == nil {
				won[v]++
			} else if !refused(err) {
				t.Error(err)
			}
		}
		n := 0
		for p, err := range one.List(t.Context(), desk.StateRunning) {
			if err == nil {
				n++
				_, err = one.Finish(t.Context(), p, by)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n > 2 {
			t.Errorf("round %d: %d of a tenant are running, want 2 at most", i, n)
		}
		for { // what waits
			out, err := one.Claim(t.Context(), by)
			if errors.Is(err, fsm.ErrNothingToDo) {
				break
			}
			if err == nil {
				_, err = one.Finish(t.Context(), out, by)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if won[0] == 0 || won[1] == 0 {
		t.Errorf("the versions came first %d times", won)
	}
}

// later leads the desk to its next version, beside the one before.
func later(t *testing.T, dsn string) {
	t.Helper()
	var versions []*spec.Machine
	for _, file := range []string{"desk.yaml", "desk2.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, found := validate.Source(file, text)
		if found.HasErrors() {
			t.Fatal(found)
		}
		versions = append(versions, m)
	}
	step, err := migration.New(versions[0], versions[1], migration.Postgres, "full")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), step.Script)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
