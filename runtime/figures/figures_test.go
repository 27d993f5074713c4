package figures_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/figures"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

var start = time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)

// away is a store whose views fail, or take their time.
type away struct {
	*memstore.Store
	view func(ctx context.Context, n int) error
	n    int
}

func (a *away) Table(s *driver.Schema) (driver.Table, error) {
	t, err := a.Store.Table(s)
	return &awayTable{t, a}, err
}

type awayTable struct {
	driver.Table
	of *away
}

func (t *awayTable) View(ctx context.Context, f func(driver.Reader) error) error {
	t.of.n++
	if t.of.view != nil {
		if err := t.of.view(ctx, t.of.n); err != nil {
			return err
		}
	}
	return t.Table.View(ctx, f)
}

// depot is a machine with parcels: p1 to p3 wait since a minute each, p4 is held until a time that is over, p5 shelved
// and about to be carried, p6 sent.
func depot(t *testing.T, store fsm.Store, opts ...fsm.Option) *figures.Machine {
	t.Helper()
	ctx, now := t.Context(), start
	schema := storetest.Schema()
	if err := fsmimpl.Migrate(ctx, store, schema); err != nil {
		t.Fatal(err)
	}
	broke := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return errors.New("no van") }
	opts = append(opts, fsm.WithClock(func() time.Time { return now }), fsm.WithBackoff(time.Second, time.Second))
	m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": broke, "carry": broke, "notify": broke}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Startup(ctx); err != nil {
		t.Fatal(err)
	}
	call := func(at fsm.Ref, c fsmimpl.Call[storetest.Parcel]) {
		t.Helper()
		if _, err := m.Apply(ctx, at, c); err != nil {
			t.Fatal(err)
		}
	}
	ann := storetest.Meta{Actor: "ann", Reason: "why"}
	for i := range 6 {
		now = now.Add(time.Minute)
		c := storetest.Register(ann, storetest.RegisterInput{ID: fmt.Sprint("p", i+1), Lane: "a"})
		if _, err := m.Create(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range []string{"p4", "p5", "p6"} {
		call(fsm.Ref{ID: id}, storetest.Hold(ann, "a", now.Add(time.Duration(i+1)*time.Minute)))
	}
	call(fsm.Ref{ID: "p5"}, storetest.Shelve(ann, "s5", "x"))
	call(fsm.Ref{ID: "p6"}, storetest.Shelve(ann, "s6", "x"))
	call(fsm.Ref{ID: "p5"}, storetest.Dispatch(ann))
	call(fsm.Ref{ID: "p6"}, storetest.Send(ann))
	if _, err := m.Deliver(ctx); err == nil {
		t.Fatal("what was to fail was delivered")
	}
	now = now.Add(10 * time.Minute)
	return figures.Of(m)
}

// told writes figures as lines, with times as minutes before the figures' own.
func told(f *figures.Figures) []string {
	ago := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return f.At.Sub(at).Round(time.Second).String()
	}
	var list []string
	for _, s := range f.States {
		list = append(list, fmt.Sprintf("%s %d over=%t known=%t oldest=%s", s.Name, s.Count, s.Over, s.Known, ago(s.Oldest)))
	}
	for _, t := range f.Triggers {
		list = append(list, fmt.Sprintf("%s (%s) %d over=%t known=%t oldest=%s", t.Operation, t.After, t.Count, t.Over, t.Known, ago(t.Oldest)))
	}
	for _, e := range f.Effects {
		list = append(list, fmt.Sprintf("%s %d tried=%d oldest=%s", e.Name, e.Due, e.Tried, ago(e.Oldest)))
	}
	return append(list, fmt.Sprintf("cut=%t late=%t", f.Cut, f.Late))
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	m := depot(t, memstore.New())
	f, err := m.Read(t.Context(), figures.Options{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "all", told(f),
		"waiting 3 over=false known=true oldest=15m0s",
		"held 1 over=false known=true oldest=10m0s",
		"shelved 1 over=false known=true oldest=10m0s",
		"sent 1 over=false known=true oldest=-",
		"release (due) 1 over=false known=true oldest=9m0s",
		"carry 1 tried=1 oldest=9m59s",
		"notify 1 tried=1 oldest=9m59s",
		"cut=false late=false")
	if m.Name() != "parcel" || !m.Sweeps() {
		t.Errorf("it is %s, and sweeps: %t", m.Name(), m.Sweeps())
	}
	f, err = m.Read(t.Context(), figures.Options{Most: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := told(f)[0]; got != "waiting 2 over=true known=true oldest=-" { // no index leads by a time
		t.Errorf("bounded: %s", got)
	}
}

// A trigger that the program has set is asked for as it is set.
func TestReadTrigger(t *testing.T) {
	t.Parallel()
	f, err := depot(t, memstore.New(), fsm.WithTrigger("release", time.Hour)).Read(t.Context(), figures.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := told(f)[4]; got != "release (due + 1h0m0s) 0 over=false known=true oldest=-" {
		t.Errorf("got %s", got)
	}
}

// What the program holds is not overdue.
func TestReadHeld(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	depot(t, store)
	later := start.AddDate(0, 0, 1)
	none := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": none, "carry": none, "notify": none},
		fsm.WithClock(func() time.Time { return later }))
	if err != nil {
		t.Fatal(err)
	}
	f := figures.Of(m)
	for _, c := range []struct {
		before time.Time
		want   int64
	}{{later, 0}, {start, 1}, {time.Time{}, 1}} {
		if err := m.HoldDeadlines(c.before); err != nil {
			t.Fatal(err)
		}
		got, err := f.Read(t.Context(), figures.Options{})
		if err != nil || got.Triggers[0].Count != c.want {
			t.Errorf("held before %v: %d are overdue, %v; want %d", c.before, got.Triggers[0].Count, err, c.want)
		}
	}
}

// An error of the store ends the questions. What took too long is left out.
func TestReadWithoutAnswer(t *testing.T) {
	t.Parallel()
	store := &away{Store: memstore.New()}
	m := depot(t, store)
	broke := errors.New("the server is away")
	store.n, store.view = 0, func(_ context.Context, n int) error {
		if n > 2 {
			return broke
		}
		return nil
	}
	f, err := m.Read(t.Context(), figures.Options{})
	if !errors.Is(err, broke) || store.n != 3 {
		t.Fatalf("got %v after %d questions", err, store.n)
	}
	equal(t, "before it was away", told(f)[:2],
		"waiting 3 over=false known=true oldest=15m0s", "held 0 over=false known=false oldest=-")

	store.n, store.view = 0, func(ctx context.Context, n int) error {
		if n != 3 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	if f, err = m.Read(t.Context(), figures.Options{Within: 400 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	equal(t, "with a slow question", told(f),
		"waiting 3 over=false known=true oldest=15m0s",
		"held 0 over=false known=false oldest=-",
		"shelved 1 over=false known=true oldest=10m0s",
		"sent 1 over=false known=true oldest=-",
		"release (due) 1 over=false known=true oldest=9m0s",
		"carry 1 tried=1 oldest=9m59s",
		"notify 1 tried=1 oldest=9m59s",
		"cut=false late=true")

	store.view = func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }
	if _, err = m.Read(t.Context(), figures.Options{Within: 20 * time.Millisecond}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a store that never answers: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = m.Read(gone, figures.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
}

// Where there are too many to sort, the record in front of the line is the oldest.
func TestReadLine(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), start
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	jobs, err := lifecycle.Open(ctx, store, fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		now = now.Add(time.Minute)
		if _, err := jobs.Enqueue(ctx, fmt.Sprint(4-i), lifecycle.EnqueueInput{}, fsm.Call{RequestID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	m := figures.Of(jobs)
	m.SortAtMost(2)
	f, err := m.Read(ctx, figures.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := told(f)[0]; got != "queued 4 over=false known=true oldest=3m0s" {
		t.Errorf("got %s", got)
	}
	if _, err := jobs.As("w1").ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: now.Add(time.Minute)}, fsm.Call{RequestID: "c"}); err != nil {
		t.Fatal(err)
	}
	if f, err = m.Read(ctx, figures.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := told(f)[0]; got != "queued 3 over=false known=true oldest=2m0s" {
		t.Errorf("got %s", got)
	}
}

func TestMoves(t *testing.T) {
	t.Parallel()
	store := &away{Store: memstore.New()}
	m := depot(t, store)
	lengths := []time.Duration{12 * time.Minute, time.Hour}
	spans := func(most int) (list []string) {
		t.Helper()
		all, err := m.Moves(t.Context(), lengths, most, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			var moves []string
			for _, v := range s.Moves {
				moves = append(moves, fmt.Sprintf("%d %s %s>%s", v.Count, v.Operation, v.From, v.To))
			}
			list = append(list, fmt.Sprintf("%s whole=%t: %s", s.Length, s.Whole, strings.Join(moves, ", ")))
		}
		return list
	}
	rest := "3 hold waiting>held, 2 shelve held>shelved, 1 dispatch shelved>shelved, 1 send shelved>sent"
	equal(t, "all", spans(1000),
		"12m0s whole=true: 3 hold waiting>held, 3 register >waiting, 2 shelve held>shelved, 1 dispatch shelved>shelved, 1 send shelved>sent",
		"1h0m0s whole=true: 6 register >waiting, "+rest)
	equal(t, "no event", spans(0), "12m0s whole=false: ", "1h0m0s whole=false: ")
	broke := errors.New("the server is away")
	store.view = func(context.Context, int) error { return broke }
	if _, err := m.Moves(t.Context(), lengths, 10, time.Second); !errors.Is(err, broke) {
		t.Errorf("got %v", err)
	}
}
