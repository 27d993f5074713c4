package storetest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// strange is a memstore whose Adopt breaks a promise.
type strange struct {
	*memstore.Store
	adopt func(ctx context.Context, tx fsm.Tx) (fsm.Tx, error)
}

func (s *strange) Adopt(ctx context.Context, schema *fsm.Schema, tx *memstore.Tx) (fsm.Tx, error) {
	in, err := s.Store.Adopt(ctx, schema, tx)
	if err != nil || s.adopt == nil {
		return in, err
	}
	return s.adopt(ctx, in)
}

// mute is a transaction that forgets what is written.
type mute struct{ fsm.Tx }

func (mute) Write(*fsm.Write) error { return nil }

// blind is a transaction that does not see its own writes.
type blind struct{ fsm.Tx }

func (blind) Row(string) (fsm.Row, error) { return fsm.Row{}, fsm.ErrNotFound }

// forgets is a transaction that does not find request ids.
type forgets struct{ fsm.Tx }

func (forgets) Request(string, string) ([]fsm.Event, error) { return nil, nil }

// adopted are the promises of Transactional.Adopt, each with what breaks it and
// the case that must notice.
var adopted = []struct {
	promise string
	breaks  func(ctx context.Context, tx fsm.Tx) (fsm.Tx, error)
	caught  string
}{
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
		}
	}
	storetest.RunJoined(t, func(testing.TB) fsm.Store { return &strange{memstore.New(), store.adopt} },
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
