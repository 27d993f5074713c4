package fsm_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// What is left of a record stays while somebody is in its group whose steps the
// audit would take for wrong without it.
func TestForgetByGroups(t *testing.T) {
	t.Parallel()
	now := start
	m := lanes(t, newStore(), func(p *fsmimpl.Projection) {
		p.Rules = slices.Insert(p.Rules, 0, fsmimpl.ProjectionRule{State: "done", Any: []string{"sent"}})
		p.Moves = append(p.Moves, fsmimpl.Move{From: "busy", To: "done"})
	}, fsm.WithClock(func() time.Time { return now }))
	for _, lane := range []string{"a", "b"} {
		out := must(t)(m.Create(t.Context(), storetest.Register(meta("1"+lane), storetest.RegisterInput{ID: "p1" + lane, Lane: lane})))
		out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta("2"+lane), lane, start.Add(time.Hour))))
		out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta("3"+lane), "s"+lane, "t")))
		must(t)(m.Apply(t.Context(), out, storetest.Send(meta("4"+lane))))
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta("5"), storetest.RegisterInput{ID: "p2a", Lane: "a"})))
	must(t)(m.Apply(t.Context(), out, storetest.Hold(meta("6"), "a", start.Add(time.Hour))))
	now = start.Add(2 * time.Hour)
	if n, err := m.Sweep(t.Context()); n != 1 || err != nil { // p1a keeps the lane from being idle
		t.Fatalf("swept %d, %v", n, err)
	}
	purge := func(want int, states ...string) {
		t.Helper()
		o := audit.PurgeOptions{Before: start.Add(3 * time.Hour), States: states, Actor: "root", Reason: "old"}
		if n, err := audit.Purge(t.Context(), m, o); n != want || err != nil {
			t.Fatalf("purged %d, %v; want %d", n, err, want)
		}
	}
	forget := func(want int) {
		t.Helper()
		if n, err := audit.Forget(t.Context(), m, audit.ForgetOptions{Before: start.Add(3 * time.Hour)}); n != want || err != nil {
			t.Errorf("forgotten: %d, %v; want %d", n, err, want)
		}
		if got := texts(t, audit.Run(t.Context(), m)); got != nil {
			t.Errorf("the audit found %v", got)
		}
	}
	purge(2, "sent")
	forget(1) // p1b
	forget(0)
	out = must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p2a", Rev: 3}, storetest.Hold(meta("7"), "a", start.Add(9*time.Hour))))
	must(t)(m.Apply(t.Context(), out, storetest.Expel(meta("8"))))
	purge(1)
	forget(2)
}
