package storetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// strange is a memstore whose Adopt breaks a promise.
type strange struct {
	*memstore.Store
	adopt func(ctx context.Context, tx fsm.Tx) (fsm.Tx, error)
	late  bool // it takes a transaction that has ended
}

func (s *strange) Adopt(ctx context.Context, schema *driver.Schema, tx *memstore.Tx) (fsm.Tx, error) {
	in, err := s.Store.Adopt(ctx, schema, tx)
	if err != nil && s.late {
		return dreaming{}, nil
	}
	if err != nil || s.adopt == nil {
		return in, err
	}
	return s.adopt(ctx, in)
}

// mute is a transaction that forgets what is written.
type mute struct{ fsm.Tx }

func (mute) Write(*driver.Write) error { return nil }

// blind is a transaction that does not see its own writes.
type blind struct{ fsm.Tx }

func (blind) Row(string) (driver.Row, error) { return driver.Row{}, driver.ErrNotFound }

// forgets is a transaction that does not find request ids.
type forgets struct{ fsm.Tx }

func (forgets) Request(string, string) ([]fsm.Event, error) { return nil, nil }

// unnamed is a transaction that does not say which rule a write has broken.
type unnamed struct{ fsm.Tx }

func (x unnamed) Write(w *driver.Write) error {
	err := x.Tx.Write(w)
	if conflict := (*driver.ConflictError)(nil); errors.As(err, &conflict) {
		return errors.New("duplicate key")
	}
	return err
}

// careless is one that lets a write break a rule.
type careless struct{ fsm.Tx }

func (x careless) Write(w *driver.Write) error {
	err := x.Tx.Write(w)
	if conflict := (*driver.ConflictError)(nil); errors.As(err, &conflict) {
		return nil
	}
	return err
}

// whole is one that takes no part of it back.
type whole struct{ fsm.Tx }

func (whole) Part(f func() error) error { return f() }

// vague is one that has another word for a row that is not there.
type vague struct{ fsm.Tx }

func (x vague) Row(id string) (driver.Row, error) {
	row, err := x.Tx.Row(id)
	if errors.Is(err, driver.ErrNotFound) {
		return row, errors.New("no rows in result set")
	}
	return row, err
}

// dreaming is a transaction that is none.
type dreaming struct{ fsm.Tx }

func (dreaming) Request(string, string) ([]fsm.Event, error) { return nil, nil }
func (dreaming) Row(string) (driver.Row, error)              { return driver.Row{}, driver.ErrNotFound }
func (dreaming) Write(*driver.Write) error                   { return nil }

// adopted are the promises of Transactional.Adopt, each with what breaks it and
// the case that must notice.
var adopted = []struct {
	promise string
	breaks  func(ctx context.Context, tx fsm.Tx) (fsm.Tx, error)
	caught  string
}{
	{"Adopt: tells which rule a write breaks", func(_ context.Context, tx fsm.Tx) (fsm.Tx, error) { return unnamed{tx}, nil }, "a_call_that_failed_half_done_is_taken_back"},
	{"Adopt: refuses a write that breaks a rule", func(_ context.Context, tx fsm.Tx) (fsm.Tx, error) { return careless{tx}, nil }, "a_call_that_failed_half_done_is_taken_back"},
	{"Adopt: tells that a row is not there", func(_ context.Context, tx fsm.Tx) (fsm.Tx, error) { return vague{tx}, nil }, "a_refusal_before_any_write_leaves_it_usable"},
	{"Part: takes back what failed", func(_ context.Context, tx fsm.Tx) (fsm.Tx, error) { return whole{tx}, nil }, "a_call_that_failed_half_done_is_taken_back"},
	{"Adopt: refuses a transaction that has ended", nil, "a_transaction_that_has_ended_is_refused"},
	{"Adopt: writes within the caller's transaction", func(_ context.Context, tx fsm.Tx) (fsm.Tx, error) { return mute{tx}, nil }, "all_of_it_at_the_commit"},
	{"Adopt: reads within the caller's transaction", func(_ context.Context, tx fsm.Tx) (fsm.Tx, error) { return blind{tx}, nil }, "all_of_it_at_the_commit"},
	{"Adopt: finds requests", func(_ context.Context, tx fsm.Tx) (fsm.Tx, error) { return forgets{tx}, nil }, "the_same_transaction_again_is_replayed"},
}

// TestJoinedOverWrong runs the cases of callers' transactions over the store that
// the environment names, or over one that breaks nothing.
func TestJoinedOverWrong(t *testing.T) {
	t.Parallel()
	store := &strange{}
	for _, p := range adopted {
		if p.promise == os.Getenv(choice) {
			store.adopt = p.breaks
			store.late = p.promise == "Adopt: refuses a transaction that has ended"
		}
	}
	storetest.RunJoined(t, func(testing.TB) fsm.Store { return &strange{memstore.New(), store.adopt, store.late} },
		func(ctx context.Context, store fsm.Store) (storetest.CallersTx, error) {
			s := store.(*strange)
			tx, err := s.Begin(ctx)
			if err != nil {
				return storetest.CallersTx{}, err
			}
			return storetest.CallersTx{
				Joined: fsm.Join(s, tx), Commit: func() error { return tx.Commit(ctx) },
				Rollback: func() error { tx.Rollback(); return nil },
			}, nil
		})
}

// Every promise of Adopt has a store that breaks it, and a case that notices.
func TestWrongAdoptIsCaught(t *testing.T) {
	t.Parallel()
	if os.Getenv(choice) != "" {
		return // the process that runs one of them
	}
	for _, p := range adopted {
		t.Run(p.promise, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestJoinedOverWrong$/^"+p.caught+"$", "-test.v", "-test.timeout", "2m")
			cmd.Env = append(os.Environ(), choice+"="+p.promise)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestJoinedOverWrong/"+p.caught) {
				t.Errorf("%s did not notice (%v):\n%s", p.caught, err, out)
			}
		})
	}
}
