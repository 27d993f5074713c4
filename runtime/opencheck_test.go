package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// unruly is the suite's schema without its unique rules.
func unruly() *driver.Schema {
	s := storetest.Schema()
	s.Uniques = nil
	return s
}

func reopen(t *testing.T, store fsm.Store, opts ...fsm.Option) (*fsm.Machine[storetest.Parcel], error) {
	t.Helper()
	return fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(nil), opts...)
}

// Two records that hold one place: the machine does not open, unless it is asked to.
func TestBrokenUniqueRuleDoesNotOpen(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(fsm.Store) fsm.Store{
		"by the store": func(s fsm.Store) fsm.Store { return s },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memstore.New()
			m := open(t, store, unruly(), fixed())
			for i := range 600 {
				label := fsm.Some(fmt.Sprintf("l%d", i))
				if i == 400 || i == 500 {
					label = fsm.Some("l300")
				}
				must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{ID: fmt.Sprintf("p%03d", i), Lane: "a", Label: label})))
			}
			_, err := reopen(t, wrap(store))
			var r *fsm.Refusal
			if !errors.As(err, &r) || r.Code != fsm.ErrNotUnique || r.Name != "dedupe_register" || r.ID != "p300" {
				t.Fatalf("open: %v, want CodeNotUnique for p300", err)
			}
			m, err = reopen(t, wrap(store), fsm.WithOpenCheck(-1))
			if err != nil {
				t.Fatal(err)
			}
			if h := audit.HealthOf(m); !h.Began.IsZero() || h.Sound() {
				t.Errorf("nothing was checked, but there is %+v", h)
			}
			var found []string
			for f, err := range audit.Run(t.Context(), m) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, f.String())
			}
			want := []string{`unique: "p300" at revision 0: the unique rule dedupe_register gives one place to one record, 3 hold it: "p300" to "p500"`}
			if d := cmp.Diff(want, found); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Above the limit the check goes on behind the open machine.
func TestCheckInTheBackground(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	m := open(t, store, storetest.Schema(), fixed())
	for i := range 600 {
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(fmt.Sprintf("p%03d", i)))))
		if i == 17 {
			spoiled(t, store, must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start))))
		}
	}
	gate := make(chan struct{})
	passed := 0
	slow := &wrapped{Store: store, view: func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		if passed++; passed > 5 { // the first looks are in the foreground
			<-gate
		}
		return table.View(ctx, f)
	}}
	ctx, cancel := context.WithCancel(t.Context())
	again, err := fsm.NewMachine(ctx, slow, storetest.Descriptor(storetest.Schema()), effects(nil), fixed(), fsm.WithOpenCheck(599))
	cancel() // the check outlives the call that began it
	if err != nil {
		t.Fatal(err)
	}
	if h := audit.HealthOf(again); !h.Running || h.Total != 600 || h.Sound() {
		t.Errorf("while it runs: %+v", h)
	}
	close(gate)
	for audit.HealthOf(again).Running {
		time.Sleep(time.Millisecond)
	}
	want := audit.Health{Began: start, Ended: start, Records: 600, Total: 600, Quarantined: 1, Findings: map[string]int64{audit.CheckRule: 1}}
	if d := cmp.Diff(want, audit.HealthOf(again)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A record whose log does not end with it is quarantined, until it is mended.
func TestLooseRecords(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(fsm.Store) *wrapped{
		"by the store": func(s fsm.Store) *wrapped { return &wrapped{Store: s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := wrap(memstore.New())
			m := open(t, store, storetest.Schema(), fixed())
			held := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
			held = must(t)(m.Apply(t.Context(), held, storetest.Hold(meta(""), "a", start)))
			other := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p2"))))
			table, err := store.Store.Table(storetest.Schema())
			if err != nil {
				t.Fatal(err)
			}
			// The row goes on to revision 3, its event says that it went elsewhere.
			next := held.Record
			next.Rev, next.State, next.Holder, next.Due = 3, "waiting", fsm.Optional[string]{}, fsm.Optional[time.Time]{}
			row := storetest.Encode(&next)
			e := held.Events[0]
			e.Rev, e.RequestID, e.From, e.To = 3, "", "held", "held"
			e.Sum = driver.Checksum(&e)
			if err := table.Commit(t.Context(), &driver.Write{Prev: held.Ref(), PrevState: "held", Row: &row, Event: e}); err != nil {
				t.Fatal(err)
			}
			m, err = reopen(t, store, fixed())
			if err != nil {
				t.Fatal(err)
			}
			h := audit.HealthOf(m)
			if d := cmp.Diff(map[string]int64{audit.CheckFold: 1}, h.Findings); d != "" || h.Quarantined != 1 || h.Records != 2 {
				t.Errorf("%+v (-want +got):\n%s", h, d)
			}
			if p, err := m.Record(t.Context(), "p1"); !errors.Is(err, fsm.ErrQuarantined) || p.ID != "p1" {
				t.Errorf("Record: %v, %v", p.Ref(), err)
			}
			if _, err := m.Apply(t.Context(), next, note("", "")); !errors.Is(err, fsm.ErrQuarantined) || !strings.Contains(err.Error(), "its log does not end") {
				t.Errorf("Apply: %v", err)
			}
			outs, err := m.Pick(t.Context(), 5, storetest.Hold(meta(""), "a", start))
			if err != nil || len(outs) != 1 || outs[0].Record.ID != other.Record.ID {
				t.Errorf("Pick: %v, %v", outs, err)
			}
			// Somebody mends it: the log gets to where the row is.
			e.Rev, e.From, e.To = 4, "waiting", "waiting"
			e.Sum = driver.Checksum(&e)
			row.Rev = 4
			if err := table.Commit(t.Context(), &driver.Write{Prev: next.Ref(), PrevState: "waiting", Row: &row, Event: e}); err != nil {
				t.Fatal(err)
			}
			next.Rev = 4
			if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("", "")); err != nil {
				t.Errorf("Apply to the mended record: %v", err)
			}
		})
	}
}

// An audit tells how far it is, and Health what it found.
func TestAuditProgress(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	for i := range 600 {
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(fmt.Sprintf("p%03d", i)))))
	}
	var got [][2]int64
	o := audit.Options[storetest.Parcel]{
		Progress: func(done, total int64) { got = append(got, [2]int64{done, total}) },
		Probes: []fsmimpl.Probe[storetest.Parcel]{{
			Name: "it is here", In: func(p *storetest.Parcel) bool { return p.ID == "p002" || p.ID == "p599" },
			Ask: func(context.Context, storetest.Parcel) (bool, error) { return false, nil },
		}},
	}
	for _, err := range audit.RunWith(t.Context(), m, o) {
		if err != nil {
			t.Fatal(err)
		}
		if h := audit.HealthOf(m); !h.Running || !h.Full || h.Records > 599 {
			t.Errorf("while it runs: %+v", h)
		}
	}
	if d := cmp.Diff([][2]int64{{256, 600}, {512, 600}, {600, 600}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := audit.Health{Full: true, Began: start, Ended: start, Records: 600, Total: 600, Findings: map[string]int64{audit.CheckProbe: 2}}
	if d := cmp.Diff(want, audit.HealthOf(m)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for range audit.RunWith(t.Context(), m, o) {
		break
	}
	if h := audit.HealthOf(m); h.Err == nil || h.Sound() || h.Running {
		t.Errorf("after an audit that was broken off: %+v", h)
	}
}

// In a long log a request id that stands twice is found by the log's index, and
// nothing else is taken for one.
func TestAuditOfALongLog(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	for i := range 3000 {
		p = must(t)(m.Apply(t.Context(), p, note(fmt.Sprintf("r%d", i), fmt.Sprint(i))))
	}
	if got := findings(t, m); got != nil {
		t.Fatalf("found %v in a sound log", got)
	}
	store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		return table.View(ctx, func(r driver.Reader) error {
			return f(&tampered{Reader: r, event: func(e *fsm.Event) bool {
				if e.Rev == 2900 {
					e.RequestID = "r5"
				}
				e.Sum = driver.Checksum(e)
				return true
			}})
		})
	}
	if d := cmp.Diff([]string{audit.CheckRequest}, findings(t, m)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
