package world

import (
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Pick runs `next` in both and compares; n 0 is the form for one record.
func (h *Harness[R]) Pick(what string, o *oracle.Op, n int, c oracle.Call) []Expected {
	h.T.Helper()
	before, ran := len(h.W.performed), len(h.Fx.Done())
	want := h.W.Pick(o, max(n, 1), c)
	got, err := h.pick(o, n, c)
	Settle(h.Fx, ran, len(h.W.performed)-before) // a record that was passed over late takes its transaction with it
	h.CompareAll(what, o, c, want, got, err)
	if n == 0 && len(got) == 0 {
		got = make([]fsm.Outcome[R], 1)
	}
	if n == 0 {
		h.traced(Step[R]{Kind: "step", Operation: o.Name, Call: c, Outcome: got[0], Err: err})
	}
	return want
}

func (h *Harness[R]) pick(o *oracle.Op, n int, c oracle.Call) ([]fsm.Outcome[R], error) {
	if ways, ok := h.D.Operations[o.Name]; ok {
		return ways.Pick(h.Ctx, n, c)
	}
	out, err := h.D.Do(h.Ctx, o.Name, nil, c)
	return []fsm.Outcome[R]{out}, err
}

// CompareAll looks at the answers of a batch.
func (h *Harness[R]) CompareAll(what string, o *oracle.Op, c oracle.Call, want []Expected, got []fsm.Outcome[R], err error) {
	h.T.Helper()
	if want[0].Code != "" {
		h.Compare(what, o, c, want[0], fsm.Outcome[R]{}, err)
		return
	}
	if err != nil || len(got) != len(want) {
		h.T.Errorf("%s: %s: %d outcomes (%v), want %d", what, o.Name, len(got), err, len(want))
		return
	}
	for i := range want {
		h.Compare(fmt.Sprintf("%s, item %d", what, i), o, c, want[i], got[i], nil)
	}
}

// Deliver runs Deliver in both and compares what happened. An effect that fails
// is told of, and one whose next step is refused as well.
func (h *Harness[R]) Deliver(what string) {
	h.T.Helper()
	if h.D.Deliver == nil {
		return
	}
	want, waits := h.W.deliver(h.Clock)
	got, err := h.D.Deliver(h.Ctx)
	if told := countEffectErrors(err); told != waits || waits > 0 != errors.Is(err, fsm.ErrEffect) {
		h.T.Errorf("%s: Deliver tells of %d effects (%v), want %d", what, told, err, waits)
	}
	h.traced(Step[R]{Kind: "deliver", Count: got, Call: oracle.Call{At: h.Clock}})
	if got != want {
		h.T.Errorf("%s: Deliver performed %d effects, want %d", what, got, want)
	}
}

// countEffectErrors counts the effects that an error of Deliver tells of. One
// that tells of anything else counts as -1.
func countEffectErrors(err error) int {
	if err == nil {
		return 0
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		n := 0
		for _, e := range list.Unwrap() {
			k := countEffectErrors(e)
			if k < 0 {
				return -1
			}
			n += k
		}
		return n
	}
	if _, ok := err.(*fsm.EffectError); !ok {
		return -1
	}
	return 1
}

// Sweep runs Sweep in both and compares.
func (h *Harness[R]) Sweep(what string) {
	h.T.Helper()
	if h.D.Sweep == nil {
		return
	}
	want := h.W.sweep(h.Clock)
	got, err := h.D.Sweep(h.Ctx)
	if err != nil {
		h.T.Errorf("%s: Sweep: %v", what, err)
	}
	h.traced(Step[R]{Kind: "sweep", Count: got, Call: oracle.Call{At: h.Clock}})
	if got != want {
		h.T.Errorf("%s: Sweep moved %d records, want %d", what, got, want)
	}
	h.Same(what)
}

// Recover opens the machine again, as after a crash, runs Startup in both and compares.
func (h *Harness[R]) Recover(what string) {
	h.T.Helper()
	if h.D.Startup == nil {
		return
	}
	h.open()
	want := h.W.startup(h.Clock)
	got, err := h.D.Startup(h.Ctx)
	if err != nil || got != want {
		h.T.Errorf("%s: Startup moved %d records (%v), want %d", what, got, err, want)
	}
	h.traced(Step[R]{Kind: "startup", Count: got, Call: oracle.Call{At: h.Clock}})
	h.Same(what)
}
