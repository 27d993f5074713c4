package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/faults"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// quiet keeps the warnings about the throw-away server's settings out of the output.
var quiet = postgres.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))

// beat is one heartbeat call: who holds revision At asks under a request id.
type beat struct {
	request string
	at      int64
}

// answer is what it was told.
type answer struct {
	kind     string // ok, stale, nothing (surely not applied), unknown
	rev      int64  // ok: of the outcome; stale: the current one
	replayed bool
}

// record is the model's state: the revision, and the requests in the order in
// which they were applied, each with its revision.
type record struct {
	rev  int64
	done string
}

func (r record) find(request string) (int64, bool) {
	for part := range strings.SplitSeq(r.done, ";") {
		if name, rev, ok := strings.Cut(part, "="); ok && name == request {
			n, err := strconv.ParseInt(rev, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

func (r record) apply(request string) record {
	return record{r.rev + 1, fmt.Sprintf("%s%s=%d;", r.done, request, r.rev+1)}
}

// sequential is what a store must look like to its callers, however many they
// are: a write happens at the revision it was decided on, once per request, and
// the same request gets the same answer.
var sequential = porcupine.NondeterministicModel{
	Init: func() []any { return []any{record{rev: 2}} },
	Step: func(state, input, output any) []any {
		r, in, out := state.(record), input.(beat), output.(answer)
		was, known := r.find(in.request)
		fits := !known && in.at == r.rev
		switch out.kind {
		case "ok":
			if known && out.replayed && out.rev == was {
				return []any{r}
			}
			if fits && out.rev == r.rev+1 {
				return []any{r.apply(in.request)}
			}
		case "stale":
			if !known && in.at != r.rev && out.rev == r.rev {
				return []any{r}
			}
		case "nothing":
			return []any{r}
		case "unknown":
			if fits {
				return []any{r, r.apply(in.request)}
			}
			return []any{r}
		}
		return nil
	},
}

// Every answer that callers get while commits are lost is one that a store
// without faults and with one caller at a time could have given.
func TestLinearizable(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of calls; run without -short")
	}
	t.Parallel()
	for _, c := range []struct {
		name       string
		short, all int
		open       func(t *testing.T) fsm.Store
	}{
		{"memory", 6000, 100_000, func(*testing.T) fsm.Store { return memstore.New() }},
		{"SQLite (modernc)", 2000, 100_000, func(t *testing.T) fsm.Store {
			store, err := sqlite.Open(filepath.Join(t.TempDir(), "x.db"))
			if err != nil {
				t.Fatal(err)
			}
			return store
		}},
		{"PostgreSQL", 2000, 100_000, func(t *testing.T) fsm.Store {
			store, err := postgres.Open(t.Context(), pgtest.DSN(t), quiet)
			if err != nil {
				t.Fatal(err)
			}
			return store
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			store := c.open(t)
			defer store.Close()
			h := play(t, &faults.Faulty{Store: store, Rate: 0.1}, faults.Size(c.short, c.all))
			if h.illegal > 0 {
				t.Errorf("%d records have a history that no right store can have; the first: %s", h.illegal, h.first)
			}
			if h.unsure > 0 {
				t.Errorf("%d histories were not decided in time", h.unsure)
			}
			if h.kinds["unknown"] == 0 || h.kinds["stale"] == 0 || h.replayed == 0 {
				t.Errorf("%v: the test shows nothing", h.kinds)
			}
			var caught []string
			for bug, name := range map[faults.Bug]string{faults.BlindWrite: "write without the revision", faults.ForgottenRequest: "request id not kept"} {
				var wrong histories
				for range 20 { // where callers hardly ever meet, the bug shows seldom
					more := play(t, &faults.Faulty{Store: memstore.New(), Rate: 0.1, Bug: bug}, 800)
					wrong.illegal += more.illegal
					if wrong.records += more.records; wrong.illegal > 0 {
						break
					}
				}
				if wrong.illegal == 0 {
					t.Errorf("the planted bug %q was not caught", name)
				}
				caught = append(caught, fmt.Sprintf("%s: caught in %d of %d histories", name, wrong.illegal, wrong.records))
			}
			slices.Sort(caught)
			faults.Report(t, faults.Row{
				Test: "linearizability (porcupine)", Store: c.name, How: "a store that loses a tenth of the commits before, after, or until later; half of these callers hear nothing more",
				Figures: fmt.Sprintf("%d operations of 8 callers on %d records, %d unknown, %d replayed: illegal %d", h.ops, h.records, h.kinds["unknown"], h.replayed, h.illegal),
				Control: strings.Join(caught, "; "), Took: time.Since(began), Longer: faults.Longer(c.short, c.all),
			})
		})
	}
}

type histories struct {
	ops, records, illegal, unsure, replayed int
	kinds                                   map[string]int
	first                                   string
}

// play lets eight callers loose on one record after another.
func play(t *testing.T, store *faults.Faulty, ops int) histories {
	t.Helper()
	ctx := t.Context()
	if err := lifecycle.Migrate(ctx, store.Store); err != nil {
		t.Fatal(err)
	}
	calm, err := lifecycle.Open(ctx, store.Store)
	if err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	h := histories{kinds: map[string]int{}}
	for h.ops < ops {
		id := fmt.Sprintf("j%d", h.records)
		if _, err := calm.Enqueue(ctx, lifecycle.EnqueueRequest{ID: id, RequestID: "make-" + id}); err != nil {
			t.Fatal(err)
		}
		first, err := calm.ClaimNext(ctx, lifecycle.ClaimNextRequest{RequestID: "claim-" + id, Actor: "w", Lease: lease})
		if err != nil || first.Record.ID != id {
			t.Fatal(first.Record.ID, err)
		}
		history := callers(ctx, t, m, first.Record)
		store.Wait()
		for _, op := range history {
			out := op.Output.(answer)
			h.kinds[out.kind]++
			if out.replayed {
				h.replayed++
			}
		}
		h.ops += len(history)
		h.records++
		switch result := porcupine.CheckOperationsTimeout(sequential.ToModel(), history, time.Minute); result {
		case porcupine.Illegal:
			if h.illegal++; h.first == "" {
				h.first = describe(history)
			}
		case porcupine.Unknown:
			h.unsure++
		}
	}
	return h
}

var lease = time.Date(2900, 1, 1, 0, 0, 0, 0, time.UTC)

// callers makes eight callers beat on one record, some with the same requests.
func callers(ctx context.Context, t *testing.T, m *lifecycle.Machine, first lifecycle.Job) []porcupine.Operation {
	const n, each = 8, 4
	var mu sync.Mutex
	var history []porcupine.Operation
	held := first
	var requests []string
	began := time.Now()
	var wg sync.WaitGroup
	for c := range n {
		wg.Go(func() {
			for i := range each {
				mu.Lock()
				at, request := held, fmt.Sprintf("r%d.%d", c, i)
				if len(requests) > 0 && rand.IntN(4) == 0 {
					request = requests[rand.IntN(len(requests))]
				} else {
					requests = append(requests, request)
				}
				mu.Unlock()
				in := beat{request, at.Rev}
				op := porcupine.Operation{ClientId: c, Input: in, Call: time.Since(began).Nanoseconds()}
				var target fsm.Target = at
				if rand.IntN(3) == 0 {
					target = at.Ref()
				}
				out, err := m.Heartbeat(faults.Call(ctx), target, lifecycle.HeartbeatRequest{RequestID: request, Actor: "w", Lease: lease})
				op.Return = time.Since(began).Nanoseconds()
				a := answer{kind: "ok", rev: out.Record.Rev, replayed: out.Replayed}
				var refused *fsm.Refusal
				switch {
				case err == nil:
				case faults.Unknown(err):
					a = answer{kind: "unknown"}
					op.Return = math.MaxInt64 // it may happen at any time from now on
				case errors.As(err, &refused) && refused.Code == fsm.CodeStale:
					a = answer{kind: "stale", rev: refused.Rev}
				case errors.Is(err, fsm.ErrBusy):
					a = answer{kind: "nothing"}
				default:
					t.Errorf("%s: %v", request, err)
					a = answer{kind: "nothing"}
				}
				op.Output = a
				mu.Lock()
				if err == nil && out.Record.Rev > held.Rev {
					held = out.Record
				}
				if refused != nil && a.kind == "stale" && a.rev > held.Rev {
					if now, err := m.Record(ctx, held.ID); err == nil {
						held = now
					}
				}
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return history
}

func describe(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, op := range history {
		in, out := op.Input.(beat), op.Output.(answer)
		fmt.Fprintf(&b, "\n  caller %d, %d to %d: beat at %d as %s -> %s %d replayed=%v", op.ClientId, op.Call, op.Return, in.at, in.request, out.kind, out.rev, out.replayed)
	}
	return b.String()
}
