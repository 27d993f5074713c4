package fsm_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// lasting opens a machine in which release is due after due and as many microseconds as weight says.
func lasting(t *testing.T, decide func(p *storetest.Parcel) error, asked func(id string), opts ...fsm.Option) *machine {
	t.Helper()
	store := newStore()
	open(t, store, storetest.Schema())
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"release": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.Triggers = []fsmimpl.Trigger{{After: "due", By: "weight"}}
			op.System = func(p *storetest.Parcel, _ time.Time) (fsmimpl.Call[storetest.Parcel], error) {
				asked(p.ID)
				c := storetest.Release()
				inner := c.Decide
				c.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
					if err := decide(p); err != nil {
						return fsmimpl.Step{}, err
					}
					return inner(p, id, peers, now)
				}
				return c, nil
			}
		},
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A sweep by a length that a field holds comes to every record once, however many are refused
// on the way and however many are due at one time.
func TestSweepByALengthComesToAll(t *testing.T) {
	t.Parallel()
	tried := map[string]int{}
	m := lasting(t, func(p *storetest.Parcel) error {
		if p.Label.Present() {
			return &fsm.Refusal{ID: p.ID, Code: fsm.ErrGuard, Machine: "parcel", Operation: "release"}
		}
		return nil
	}, func(id string) { tried[id]++ }, fixed())
	const all = 600 // more than two pages
	for i := range all {
		r := in(fmt.Sprintf("p%03d", (i*7)%all))
		r.Weight = fsm.Some(int64(i/100) * 1000)
		if i%3 == 0 {
			r.Label = fsm.Some(r.ID)
		}
		if i == 0 {
			r.Weight = fsm.Optional[int64]{} // never
		}
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), r)))
		must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start.Add(-4*time.Millisecond))))
	}
	const due = 500 // those of up to 4 ms, but for the one that never is
	n, err := m.Sweep(t.Context())
	if err != nil || n != due-167 {
		t.Errorf("swept %d, %v; want %d", n, err, due-167)
	}
	for id, times := range tried {
		if times != 1 {
			t.Errorf("%s was tried %d times", id, times)
		}
	}
	if len(tried) != due-1 {
		t.Errorf("%d were tried, want %d", len(tried), due-1)
	}
}

// A trigger that adds a field keeps it: no option of a program says something else.
func TestNoOptionReplacesAField(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"release": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.Triggers = []fsmimpl.Trigger{{After: "due", By: "weight"}}
		},
	})
	if _, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fsm.WithTrigger("release", time.Minute)); err == nil {
		t.Error("the length was replaced")
	}
}

// A pick may not give a deadline that goes by while it is made, whichever part of it the pick gives.
func TestPickWhoseLengthGoesBy(t *testing.T) {
	t.Parallel()
	now := start
	var slow time.Duration
	store := memstore.New()
	open(t, store, storetest.Schema())
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"release": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.Triggers = []fsmimpl.Trigger{{After: "created_at", By: "weight"}}
		},
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fsm.WithClock(func() time.Time { now = now.Add(slow); return now }))
	if err != nil {
		t.Fatal(err)
	}
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	hold := storetest.Hold(w1, "a", now.Add(time.Hour))
	inner := hold.Decide
	hold.Decide = func(p *storetest.Parcel, id string, peers []int64, at time.Time) (fsmimpl.Step, error) {
		p.Weight = fsm.Some(p.UpdatedAt.Sub(p.CreatedAt).Microseconds() + (2500 * time.Millisecond).Microseconds())
		return inner(p, id, peers, at)
	}
	slow = time.Second
	var refused *fsm.Refusal
	if _, err := m.Pick(t.Context(), 1, hold); !errors.As(err, &refused) || refused.Code != fsm.ErrInvalidInput || refused.Name != "weight" {
		t.Errorf("got %v, want a refusal that names the length", err)
	}
}

// An audit adds the length before it says that a deadline is far off, and a field that a deadline
// is made of cannot be erased.
func TestFarByALength(t *testing.T) {
	t.Parallel()
	m := lasting(t, fine, func(string) {}, fixed())
	for _, x := range []struct {
		id     string
		length time.Duration
	}{{"near", time.Hour}, {"far", 6 * 366 * 24 * time.Hour}} {
		r := in(x.id)
		r.Weight = fsm.Some(x.length.Microseconds())
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), r)))
		must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	}
	var found []string
	for f, err := range audit.Run(t.Context(), m) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, f.ID+" "+f.Check+": "+f.Message)
	}
	want := "far far: due + weight is 2032-05-08T03:02:01Z: until then nothing fires release"
	if len(found) != 1 || found[0] != want {
		t.Errorf("got %q, want %q", found, want)
	}
	erase := audit.RedactOptions{Fields: []string{"weight"}, Actor: "ann", Reason: "asked"}
	if _, _, err := audit.Redact(t.Context(), m, "near", erase); err == nil {
		t.Error("the length was erased")
	}
}

// A hold is compared with the deadline that a length makes, and names the operations that it holds.
func TestHoldByALength(t *testing.T) {
	t.Parallel()
	m := lasting(t, fine, func(string) {}, fixed())
	r := in("p1")
	r.Weight = fsm.Some(int64(1000))
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), r)))
	must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start.Add(-4*time.Millisecond))))
	due := start.Add(-3 * time.Millisecond)
	for _, name := range []string{"hold", "nothing"} {
		if err := m.HoldDeadlines(start, name); err == nil {
			t.Errorf("%s has no deadline, and was held", name)
		}
	}
	for _, c := range []struct {
		before time.Time
		want   int
	}{{due.Add(time.Microsecond), 0}, {start.AddDate(1, 0, 0), 0}, {due, 1}, {time.Time{}, 0}} {
		if err := m.HoldDeadlines(c.before, "release"); err != nil {
			t.Fatal(err)
		}
		if n, err := m.Sweep(t.Context()); n != c.want || err != nil {
			t.Errorf("held before %v: swept %d, %v, want %d", c.before, n, err, c.want)
		}
	}
}
