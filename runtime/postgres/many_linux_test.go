package postgres_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// prepared is how a session names a statement that it runs, in the message that runs it.
func prepared(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "\x00stmt_" + hex.EncodeToString(sum[:24]) + "\x00"
}

// When the answer to the commit of a batch is lost, or to the statement before it,
// the same calls again give each record its one event. A pick sends its commit with its write.
func TestLostAnswerToABatch(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	p := newProxy(t, server)
	m, _ := parcels(t, p.dsn(), postgres.WithDeadline(time.Second))
	const n = 20
	var made []fsm.Outcome[storetest.Parcel]
	steps := []struct {
		name  string
		heard string // in the arguments of its statement only
		batch func(ctx context.Context, round string) ([]fsm.Outcome[storetest.Parcel], error)
	}{
		{"made", `"make s0"`, func(ctx context.Context, round string) ([]fsm.Outcome[storetest.Parcel], error) {
			calls := make([]fsmimpl.Call[storetest.Parcel], n)
			for i := range calls {
				calls[i] = storetest.Register(storetest.Meta{RequestID: fmt.Sprint("make ", round, i)}, storetest.RegisterInput{ID: fmt.Sprint(round, i), Lane: "lane " + round})
			}
			return m.CreateMany(ctx, calls)
		}},
		{"moved", `"note s"`, func(ctx context.Context, round string) ([]fsm.Outcome[storetest.Parcel], error) {
			items := make([]fsmimpl.Item[storetest.Parcel], n)
			for i := range items {
				items[i] = fsmimpl.Item[storetest.Parcel]{At: made[i], Call: storetest.Annotate(storetest.Meta{RequestID: "note " + round}, fsm.Some(fsm.MustJSON(`"x"`)), fsm.Optional[string]{}, fsm.Optional[bool]{})}
			}
			return m.ApplyMany(ctx, items)
		}},
		{"picked", "lane s", func(ctx context.Context, round string) ([]fsm.Outcome[storetest.Parcel], error) {
			return m.Pick(ctx, n, storetest.Hold(storetest.Meta{RequestID: "pick " + round, Actor: "w"}, "lane "+round, time.Now().Add(time.Hour)))
		}},
	}
	if _, err := steps[0].batch(t.Context(), "w"); err != nil { // so that COMMIT is prepared
		t.Fatal(err)
	}
	for _, ambiguous := range []bool{true, false} {
		for rev, step := range steps {
			round, word := "c", prepared("COMMIT")
			if !ambiguous {
				round, word = "s", step.heard
			}
			p.silenceAt(word)
			// The caller goes when its answer is lost, however long it takes until then.
			brief, cancel := context.WithCancel(t.Context())
			go func() {
				for !p.heard() && brief.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			_, err := step.batch(brief, round)
			for errors.Is(err, fsm.ErrBusy) && !p.heard() { // the machine was too slow for the deadline
				_, err = step.batch(brief, round)
			}
			cancel()
			if !p.heard() {
				t.Fatalf("%q, %s: nothing was lost, the answer is %v: the test shows nothing", word, step.name, err)
			}
			if ambiguous != errors.Is(err, fsm.ErrAmbiguous) || !ambiguous && !errors.Is(err, fsm.ErrBusy) && !errors.Is(err, context.Canceled) {
				t.Errorf("%q, %s: got %v, want it ambiguous: %t, or else surely not made", word, step.name, err, ambiguous)
			}
			p.silence(false)
			p.cut()
			var outs []fsm.Outcome[storetest.Parcel]
			for range 100 {
				if outs, err = step.batch(t.Context(), round); err == nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			if err != nil || len(outs) != n {
				t.Fatalf("%q, %s: the same batch again: %d outcomes, %v", word, step.name, len(outs), err)
			}
			for _, out := range outs {
				if out.Replayed != ambiguous || out.Ref().Rev != int64(rev+1) {
					t.Errorf("%q, %s: %v, replayed: %t", word, step.name, out.Ref(), out.Replayed)
				}
			}
			if rev == 0 {
				made = outs
			}
		}
	}
	for f, err := range audit.Run(t.Context(), m) {
		t.Errorf("audit: %v, %v", f, err)
	}
}
