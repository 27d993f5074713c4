package claims_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/claims/slot"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// slots opens the machine of slots in a new database.
func slots(t testing.TB, kind string, opts ...fsm.Option) (*slot.Machine, fsm.Store) {
	t.Helper()
	var store fsm.Store = memstore.New()
	var err error
	switch kind {
	case "sqlite":
		store, err = sqlite.Open(filepath.Join(t.TempDir(), "slots.db"))
	case "postgres":
		store, err = postgres.Open(t.Context(), pgtest.DSN(t), postgres.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := slot.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := slot.Open(t.Context(), store, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m, store
}

// A pick that parks takes what one that looks at everything takes, whatever happened
// before: the machine in memory parks nothing.
func TestParkingChangesNoPick(t *testing.T) {
	t.Parallel()
	for kind, runs := range map[string]uint64{"sqlite": 10, "postgres": 2} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for seed := range runs {
				samePicks(t, kind, rand.New(rand.NewPCG(seed, 12)))
			}
		})
	}
}

func samePicks(t *testing.T, kind string, random *rand.Rand) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := fsm.WithClock(func() time.Time { return now })
	parks, _ := slots(t, kind, clock)
	plain, _ := slots(t, "memory", clock)
	var ids, story []string
	word := func(from string) fsm.Optional[string] {
		if i := random.IntN(len(from) + 1); i < len(from) {
			return fsm.Some(from[i : i+1])
		}
		return fsm.Optional[string]{}
	}
	for i := range 250 {
		now = now.Add(time.Duration(random.IntN(5)) * time.Second)
		lane, key := word("ab"), word("xy")
		rank, floor, blocked := random.Int64N(3), random.Int64N(3), random.IntN(5) == 0
		ready := fsm.Some(now.Add(time.Duration(random.IntN(20)-10) * time.Second))
		which := random.IntN(12)
		n := 1 + random.IntN(3)
		at := fsm.Ref{}
		if len(ids) > 0 {
			at.ID = ids[random.IntN(len(ids))]
		} else {
			which = 0
		}
		id := fmt.Sprintf("s%03d", i)
		act := func(m *slot.Machine) (ids []string, err error) {
			ctx, out := t.Context(), slot.Outcome{}
			switch which {
			case 0, 1, 2:
				out, err = m.Submit(ctx, id, slot.SubmitInput{Lane: lane, Key: key, Rank: rank, Floor: floor, ReadyAt: ready, Blocked: blocked}, fsm.Call{})
			case 3:
				out, err = m.Edit(ctx, at, slot.EditInput{Lane: lane, Key: key, Rank: rank, Floor: floor, ReadyAt: ready, Blocked: blocked}, fsm.Call{})
			case 4:
				out, err = m.Rush(ctx, at, fsm.Call{Actor: "o"})
			case 5:
				out, err = m.Shift(ctx, at, slot.ShiftInput{Lane: lane}, fsm.Call{})
			case 6:
				out, err = m.Back(ctx, at, fsm.Call{})
			case 7:
				out, err = m.Finish(ctx, at, fsm.Call{})
			case 8:
				out, err = m.Drop(ctx, at, fsm.Call{})
			default:
				outs, err := m.ClaimN(ctx, n, fsm.Call{Actor: "w"})
				for _, out := range outs {
					ids = append(ids, out.Record.ID)
				}
				return ids, err
			}
			if err == nil {
				ids = []string{out.Record.ID}
			}
			return ids, err
		}
		want, refused := act(plain)
		got, err := act(parks)
		story = append(story, fmt.Sprintf("%d: %d %v: %v, %v", i, which, at, got, err))
		if !slices.Equal(got, want) || (refused == nil) != (err == nil) || errors.Is(refused, fsm.ErrNothingToDo) != errors.Is(err, fsm.ErrNothingToDo) {
			t.Fatalf("%s: got %v, %v; in memory %v, %v; the last steps:\n%v", kind, got, err, want, refused, story[max(0, len(story)-12):])
		}
		if which <= 2 && err == nil {
			ids = append(ids, id)
		}
	}
}
