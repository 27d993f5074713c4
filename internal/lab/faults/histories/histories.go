// Package histories plays callers against a store and looks, with porcupine, whether
// every answer is one that a store without faults and with one caller at a time
// could have given.
package histories

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// beat is one heartbeat call: who holds revision At asks under a request id.
type beat struct {
	request string
	at      int64
}

// answer is what it was told.
type answer struct {
	Kind     string // ok, stale, nothing (surely not applied), unknown
	Rev      int64  // ok: of the outcome; stale: the current one
	Replayed bool
	Wrong    string // an error that no caller should get
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
		switch out.Kind {
		case "ok":
			if known && out.Replayed && out.Rev == was {
				return []any{r}
			}
			if fits && out.Rev == r.rev+1 {
				return []any{r.apply(in.request)}
			}
		case "stale":
			if !known && in.at != r.rev && out.Rev == r.rev {
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

// Subject is a store under test.
type Subject struct {
	Name        string
	How         string                       // what else happens to the store meanwhile; may be empty
	Open        func(t *testing.T) fsm.Store // an empty one, that is closed with the test
	Wrong       func(t *testing.T) fsm.Store // another one for the planted bugs, which must not refuse what they do; nil: Open
	Short, Long int                          // calls of eight callers in all, by the form of the test

	// Processes, unless empty, are the arguments of processes that make the calls: see Main.
	Processes []string
}

// planted is how many calls a planted bug is looked for in, up to twenty times.
const planted = 800

// Check plays callers against the store while a tenth of its commits is lost, and
// against two that are wrong on purpose, which it must find; and reports the
// figures. disturb, unless nil, runs beside the first until its context ends.
func (s *Subject) Check(t *testing.T, disturb func(ctx context.Context)) {
	t.Helper()
	began := time.Now()
	store := s.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var beside sync.WaitGroup
	if disturb != nil {
		beside.Go(func() { disturb(ctx) })
	}
	h := play(t, store, s.seats(t, store), faults.Size(s.Short, s.Long))
	cancel()
	beside.Wait()
	if h.illegal > 0 {
		t.Errorf("%d records have a history that no right store can have; the first: %s", h.illegal, h.first)
	}
	if h.unsure > 0 {
		t.Errorf("%d histories were not decided in time", h.unsure)
	}
	if h.kinds["unknown"] == 0 || h.kinds["stale"] == 0 || h.replayed == 0 {
		t.Errorf("%v: the test shows nothing", h.kinds)
	}
	wrong := s.Wrong
	if wrong == nil {
		wrong = s.Open
	}
	var caught []string
	for bug, name := range map[faults.Bug]string{faults.BlindWrite: "write without the revision", faults.ForgottenRequest: "request id not kept"} {
		var h histories
		for range 20 { // where callers hardly ever meet, the bug shows seldom
			store := wrong(t)
			more := play(t, store, []seat{local(t, &faults.Faulty{Store: store, Rate: 0.1, Bug: bug})}, planted)
			h.illegal += more.illegal
			if h.records += more.records; h.illegal > 0 {
				break
			}
		}
		if h.illegal == 0 {
			t.Errorf("the planted bug %q was not caught", name)
		}
		caught = append(caught, fmt.Sprintf("%s: caught in %d of %d histories", name, h.illegal, h.records))
	}
	slices.Sort(caught)
	how := "a store that loses a tenth of the commits before, after, or until later; half of these callers hear nothing more"
	if n := len(s.Processes); n > 0 {
		how += fmt.Sprintf("; the callers are in %d processes", n)
	}
	if s.How != "" {
		how += "; " + s.How
	}
	faults.Report(t, faults.Row{
		Test: "linearizability (porcupine)", Store: s.Name, How: how,
		Figures: fmt.Sprintf("%d operations of 8 callers on %d records, %d unknown, %d busy, %d replayed: illegal %d",
			h.ops, h.records, h.kinds["unknown"], h.kinds["nothing"], h.replayed, h.illegal),
		Control: strings.Join(caught, "; "), Took: time.Since(began), Longer: faults.Longer(s.Short, s.Long),
	})
}

type histories struct {
	ops, records, illegal, unsure, replayed int
	kinds                                   map[string]int
	first                                   string
}

// play lets eight callers loose on one record after another, from these seats.
func play(t *testing.T, store fsm.Store, seats []seat, ops int) histories {
	t.Helper()
	ctx := t.Context()
	calm, err := lifecycle.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	h := histories{kinds: map[string]int{}}
	for h.ops < ops {
		id := fmt.Sprintf("j%d", h.records)
		settled(t, func() (lifecycle.Outcome, error) {
			return calm.Enqueue(ctx, id, lifecycle.EnqueueInput{}, fsm.Call{RequestID: "make-" + id})
		})
		first := settled(t, func() (lifecycle.Outcome, error) {
			return calm.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: "claim-" + id, Actor: "w"})
		})
		if first.Record.ID != id {
			t.Fatalf("claimed %s, want %s", first.Record.ID, id)
		}
		history := callers(t, seats, first.Record.Ref())
		for _, s := range seats {
			s.wait()
		}
		for _, op := range history {
			out := op.Output.(answer)
			h.kinds[out.Kind]++
			if out.Replayed {
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

// settled makes a call until it is known what became of it.
func settled(t *testing.T, call func() (lifecycle.Outcome, error)) lifecycle.Outcome {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out, err := call()
		if err == nil {
			return out
		}
		if !faults.Unknown(err) && !errors.Is(err, fsm.ErrBusy) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

var lease = time.Date(time.Now().Year()+4, 1, 1, 0, 0, 0, 0, time.UTC)

// callers makes eight callers beat on one record, some with the same requests.
func callers(t *testing.T, seats []seat, held fsm.Ref) []porcupine.Operation {
	const n, each = 8, 4
	var mu sync.Mutex
	var history []porcupine.Operation
	var requests []string
	began := time.Now()
	var wg sync.WaitGroup
	for c := range n {
		wg.Go(func() {
			for i := range each {
				mu.Lock()
				q := question{At: held, Held: rand.IntN(3) > 0, Request: fmt.Sprintf("r%d.%d", c, i)}
				if len(requests) > 0 && rand.IntN(4) == 0 {
					q.Request = requests[rand.IntN(len(requests))]
				} else {
					requests = append(requests, q.Request)
				}
				mu.Unlock()
				op := porcupine.Operation{ClientId: c, Input: beat{q.Request, q.At.Rev}, Call: time.Since(began).Nanoseconds()}
				a := seats[c%len(seats)].ask(q)
				op.Return, op.Output = time.Since(began).Nanoseconds(), a
				if a.Kind == "unknown" {
					op.Return = math.MaxInt64 // it may happen at any time from now on
				}
				if a.Wrong != "" {
					t.Errorf("%s: %s", q.Request, a.Wrong)
				}
				mu.Lock()
				held.Rev = max(held.Rev, a.Rev)
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
		fmt.Fprintf(&b, "\n  caller %d, %d to %d: beat at %d as %s -> %s %d replayed=%v", op.ClientId, op.Call, op.Return, in.at, in.request, out.Kind, out.Rev, out.Replayed)
	}
	return b.String()
}
