package claims_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/claims/owner"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// owning is a step of an owner that was taken, and when its call began and ended.
type owning struct {
	id, op       string
	rev          int64
	account, to  string // after the step
	began, ended int64
}

// stays reports whether a state is one of those of another_here.
func stays(s string) bool { return s == "active" || s == "resting" }

// owners are the owners at one moment: their states and accounts, by id.
type owners map[string][2]string

// take takes a step, and reports whether its guard holds.
func (w owners) take(s owning) bool {
	account := w[s.id][1]
	holds := s.op != "leave" && s.op != "rest" && s.op != "invite"
	if s.op == "invite" {
		account = s.account
	}
	for id, other := range w {
		if id != s.id && other[1] == account && account != "" {
			holds = holds || other[0] == "active" || s.op == "leave" && stays(other[0])
		}
	}
	w[s.id] = [2]string{s.to, s.account}
	return holds
}

// explained reports whether some order of the steps explains all of them: each one began before those ended that stand
// behind it. What is left of a set of steps does not depend on their order, so each set is looked at once.
func explained(before owners, steps []owning) bool {
	seen := map[uint64]bool{}
	var look func(done uint64, w owners) bool
	look = func(done uint64, w owners) bool {
		if done == 1<<len(steps)-1 {
			return true
		}
		if seen[done] {
			return false
		}
		seen[done] = true
		for i, s := range steps {
			if done&(1<<i) != 0 {
				continue
			}
			first := true
			for j, other := range steps {
				waits := done&(1<<j) == 0 && j != i
				first = first && !(waits && (other.ended < s.began || other.id == s.id && other.rev < s.rev))
			}
			if !first {
				continue
			}
			next := owners{}
			for id, v := range w {
				next[id] = v
			}
			if next.take(s) && look(done|1<<i, next) {
				return true
			}
		}
		return false
	}
	return look(0, before)
}

// TestOrdersExplain: two who leave at once, each relying on the other, are explained by no order.
func TestOrdersExplain(t *testing.T) {
	t.Parallel()
	two := owners{"a": {"active", "x"}, "b": {"active", "x"}}
	leave := func(id string, began, ended int64) owning {
		return owning{id: id, op: "leave", rev: 2, account: "x", to: "left", began: began, ended: ended}
	}
	suspend := func(id string, began, ended int64) owning {
		s := leave(id, began, ended)
		s.op, s.to = "suspend", "suspended"
		return s
	}
	for name, c := range map[string]struct {
		steps []owning
		want  bool
	}{
		"one leaves":              {[]owning{leave("a", 1, 2)}, true},
		"both leave":              {[]owning{leave("a", 1, 3), leave("b", 2, 4)}, false},
		"suspended while one was": {[]owning{suspend("a", 1, 4), leave("b", 2, 3)}, true},
		"suspended before":        {[]owning{suspend("a", 1, 2), leave("b", 3, 4)}, false},
	} {
		if got := explained(two, c.steps); got != c.want {
			t.Errorf("%s: explained is %t, want %t", name, got, c.want)
		}
	}
}

// tickets numbers the events of owners in the order in which their transactions commit, while they still have their
// locks: PostgreSQL's log has another order.
const tickets = `CREATE SEQUENCE ticket;
CREATE TABLE tickets ("n" bigint, "id" text, "rev" bigint);
CREATE FUNCTION ticket() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO tickets VALUES (nextval('ticket'), NEW."id", NEW."rev"); RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER ticket AFTER INSERT ON owner_events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ticket()`

// inOrder returns the steps of a round in the order of their commits.
func inOrder(t *testing.T, m *owner.Machine, db *sql.DB, steps []owning, end *driver.Cursor) (list []owning) {
	t.Helper()
	add := func(id string, rev int64) {
		for _, s := range steps {
			if s.id == id && s.rev == rev {
				list = append(list, s)
			}
		}
	}
	if db == nil {
		for e, err := range m.Log(t.Context(), *end) {
			if err != nil {
				t.Fatal(err)
			}
			*end = e.Cursor
			add(e.ID, e.Rev)
		}
		return list
	}
	rows, err := db.Query(`SELECT "id", "rev" FROM tickets ORDER BY "n"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var rev int64
		if err := rows.Scan(&id, &rev); err != nil {
			t.Fatal(err)
		}
		add(id, rev)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Who leaves at once, or goes otherwise, never takes the last one away from a step that relied on it: eight callers leave,
// rest, are suspended, and move to another account, in up to three programs.
func TestSomeoneStays(t *testing.T) {
	t.Parallel()
	dsn := ""
	for kind, open := range map[string]func(t *testing.T) []fsm.Store{
		"memory": func(*testing.T) []fsm.Store { return []fsm.Store{memstore.New()} },
		"sqlite": func(t *testing.T) (list []fsm.Store) {
			file := filepath.Join(t.TempDir(), "owners.db")
			for range 2 {
				s, err := sqlite.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, s)
			}
			return list
		},
		"postgres": func(t *testing.T) []fsm.Store {
			dsn = pgtest.DSN(t)
			return []fsm.Store{server(t, dsn), server(t, dsn), server(t, dsn)}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var machines []*owner.Machine
			for _, store := range open(t) {
				t.Cleanup(func() { store.Close() })
				if err := owner.Migrate(t.Context(), store); err != nil {
					t.Fatal(err)
				}
				m, err := owner.Open(t.Context(), store)
				if err != nil {
					t.Fatal(err)
				}
				machines = append(machines, m)
			}
			var db *sql.DB
			if kind == "postgres" {
				var err error
				if db, err = sql.Open("pgx", dsn); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
				if _, err := db.Exec(tickets); err != nil {
					t.Fatal(err)
				}
			}
			var clock atomic.Int64
			refused, taken := 0, 0
			var end driver.Cursor
			for round := range 2 * rounds() {
				before := owners{}
				x, y := fmt.Sprint("x", round), fmt.Sprint("y", round)
				for i := range 3 {
					id := fmt.Sprintf("o%d-%d", round, i)
					if _, err := machines[0].Found(t.Context(), id, owner.FoundInput{Account: fsm.Some(x)}, fsm.Call{}); err != nil {
						t.Fatal(err)
					}
					before[id] = [2]string{"active", x}
				}
				steps, no := meetOwners(t, machines, &clock, round, y)
				refused, taken = refused+no, taken+len(steps)
				if !explained(before, steps) {
					t.Errorf("round %d: no order explains %+v of %v", round, steps, before)
				}
				ordered := inOrder(t, machines[0], db, steps, &end)
				if len(ordered) != len(steps) {
					t.Fatalf("round %d: the log has %d of %d steps", round, len(ordered), len(steps))
				}
				for i, s := range ordered {
					if !before.take(s) {
						t.Errorf("round %d: %s of %s had nobody beside it at its commit, in %+v", round, s.op, s.id, ordered[:i+1])
					}
				}
			}
			if refused == 0 || taken < rounds() {
				t.Errorf("%d steps were taken and %d calls refused, want some of both", taken, refused)
			}
		})
	}
}

// meetOwners lets eight callers make two calls each at once, and returns the steps that were taken.
func meetOwners(t *testing.T, machines []*owner.Machine, clock *atomic.Int64, round int, other string) (steps []owning, refused int) {
	t.Helper()
	var lock sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	for caller := range 8 {
		m := machines[caller%len(machines)]
		random := rand.New(rand.NewPCG(uint64(round), uint64(caller)))
		wg.Go(func() {
			<-start
			for range 2 {
				if caller > 3 {
					time.Sleep(time.Duration(random.IntN(800)) * time.Microsecond)
				}
				ref := fsm.Ref{ID: fmt.Sprintf("o%d-%d", round, random.IntN(3))}
				s := owning{id: ref.ID, began: clock.Add(1)}
				out, err := callOwner(t.Context(), m, &s, ref, random.IntN(10), other)
				s.ended = clock.Add(1)
				lock.Lock()
				switch {
				case err == nil:
					s.rev, s.to, s.account = out.Record.Rev, out.Record.State.String(), out.Record.Account.Or("")
					steps = append(steps, s)
				case errors.Is(err, fsm.ErrGuard):
					refused++
				case !errors.Is(err, fsm.ErrWrongState) && !errors.Is(err, fsm.ErrTerminal) && !errors.Is(err, fsm.ErrBusy):
					t.Error(err)
				}
				lock.Unlock()
			}
		})
	}
	close(start)
	wg.Wait()
	return steps, refused
}

// callOwner makes one of the calls: half of them leave.
func callOwner(ctx context.Context, m *owner.Machine, s *owning, ref fsm.Ref, which int, other string) (owner.Outcome, error) {
	by := fsm.Call{Actor: "root", Reason: "asked"}
	switch which {
	case 0, 1:
		s.op = "rest"
		return m.Rest(ctx, ref, by)
	case 2:
		s.op = "suspend"
		return m.Suspend(ctx, ref, by)
	case 3:
		s.op = "hand_over"
		return m.HandOver(ctx, ref, owner.HandOverInput{Account: other}, by)
	case 4:
		s.op = "wake"
		return m.Wake(ctx, ref, by)
	}
	s.op = "leave"
	return m.Leave(ctx, ref, by)
}
