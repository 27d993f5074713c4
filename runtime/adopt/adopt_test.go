package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/internal/validate"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/adopt"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

var start = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

type parcels = fsm.Machine[storetest.Parcel]

func open(t *testing.T, store fsm.Store) *parcels {
	t.Helper()
	s := storetest.Schema()
	machine, found := validate.Source("parcel.yaml", []byte(storetest.Spec))
	if found.HasErrors() {
		t.Fatal(found)
	}
	text, err := gen.Schema(machine, "sqlite", "full")
	if err != nil {
		t.Fatal(err)
	}
	s.SQL = map[string]string{"sqlite": string(text)}
	if err := fsmimpl.Migrate(t.Context(), store, s); err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
	effects := map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": none, "carry": none, "notify": none}
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(s), effects, fsm.WithClock(func() time.Time { return start }))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func item(p storetest.Parcel) adopt.Item[storetest.Parcel] {
	p.CreatedAt, p.UpdatedAt = start.Add(-48*time.Hour), start.Add(-48*time.Hour)
	if p.Lane == "" {
		p.Lane = "a"
	}
	return adopt.Item[storetest.Parcel]{Record: p, Call: fsm.Call{RequestID: "import " + p.ID, Actor: "ann", Reason: "moves in"}}
}

// table is an old table: 600 parcels, of which some are odd.
func table() iter.Seq2[adopt.Item[storetest.Parcel], error] {
	return func(yield func(adopt.Item[storetest.Parcel], error) bool) {
		for i := range 600 {
			p := storetest.Parcel{ID: fmt.Sprintf("p%03d", i), State: "waiting"}
			switch {
			case i%100 == 7: // 6
				p.State = "lost"
			case i%100 == 8: // 6, of which the first has the place
				p.State, p.Slot = "shelved", fsm.Some("s1")
			case i%100 == 9: // 6
				p.State = "held"
				p.Due = fsm.Some(start.Add(-time.Hour))
				p.Holder = fsm.Some("ben")
			case i%100 == 10: // 6
				p.State, p.Due, p.Holder = "held", fsm.Some(start.Add(time.Hour)), fsm.Some("ben")
			case i%100 == 11: // 6, two misfits each
				p.State, p.Moves = "held", -1
			case i%100 == 12 && i > 12: // 5
				p.ID = "p012"
				p.Label = fsm.Some(fmt.Sprint(i))
			}
			next := item(p)
			if i%100 == 13 { // 6
				next = adopt.Item[storetest.Parcel]{Odd: []adopt.Misfit{{Rule: "status", ID: p.ID, Value: "ON HOLD"}}}
			}
			if !yield(next, nil) {
				return
			}
		}
	}
}

func stores(t *testing.T, f func(t *testing.T, store fsm.Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { f(t, memstore.New()) })
	t.Run("sqlite", func(t *testing.T) {
		store, err := sqlite.Open(filepath.Join(t.TempDir(), "p.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		f(t, store)
	})
}

func count(t *testing.T, m *parcels) (n int64) {
	t.Helper()
	err := m.Engine().Table.View(t.Context(), func(r driver.Reader) (err error) {
		n, err = r.Count(driver.Query{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// odd are the lines of what does not fit.
var odd = []string{
	`     6  due is present (invariant): p011 due absent; p111 due absent`,
	`     6  holder is present (invariant): p011 holder absent; p111 holder absent`,
	`     6  state (invalid_input): p007 state "lost"; p107 state "lost"`,
	`     6  status: p013 ON HOLD; p113 ON HOLD`,
	`     5  one_per_slot (not_unique): p108 slot "s1"; p208 slot "s1"`,
	`     5  request_reused: p012 TWICE; p012 TWICE`,
}

func report(head, twice string, more ...string) string {
	lines := append([]string{head}, odd...)
	return strings.ReplaceAll(strings.Join(append(lines, more...), "\n"), "TWICE", twice) + "\n"
}

const (
	among  = "twice among these records"
	stored = `"import p012" stands at revision 1 for operation __import`
)

func TestTryAndImport(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, store fsm.Store) {
		m := open(t, store)
		try := func(want string) {
			t.Helper()
			r, err := adopt.Try(t.Context(), m, table(), adopt.Options{First: 2})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, r.String()); d != "" {
				t.Errorf("Try (-want +got):\n%s", d)
			}
		}
		write := func(page int, want string) {
			t.Helper()
			r, err := adopt.Import(t.Context(), m, table(), adopt.Options{First: 2, Page: page})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, r.String()); d != "" {
				t.Errorf("Import (-want +got):\n%s", d)
			}
		}
		try(report("600 records: 572 fit, 0 were imported before, 28 do not fit", among,
			"a sweep would run release on 6 records: p009, p109"))
		if n := count(t, m); n != 0 {
			t.Errorf("a dry run wrote %d records", n)
		}
		write(64, report("600 records: 572 fit, 0 were imported before, 28 do not fit", stored))
		if n := count(t, m); n != 572 {
			t.Errorf("%d records are stored", n)
		}
		write(0, report("600 records: 0 fit, 572 were imported before, 28 do not fit", stored))
		try(report("600 records: 0 fit, 572 were imported before, 28 do not fit", stored))
	})
}

func TestHeldDeadlines(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, store fsm.Store) {
		m := open(t, store)
		if _, err := adopt.Import(t.Context(), m, table(), adopt.Options{}); err != nil {
			t.Fatal(err)
		}
		due := func(want ...string) {
			t.Helper()
			moves, err := adopt.Due(t.Context(), m, adopt.Options{First: 1})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range moves {
				got = append(got, m.String())
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("Due (-want +got):\n%s", d)
			}
		}
		swept := func(want int) {
			t.Helper()
			if n, err := m.Sweep(t.Context()); n != want || err != nil {
				t.Errorf("swept %d, %v; want %d", n, err, want)
			}
		}
		if err := m.HoldDeadlines(start, "hold"); err == nil {
			t.Error("hold has no deadline, and was held")
		}
		if err := m.HoldDeadlines(start); err != nil {
			t.Fatal(err)
		}
		due("a sweep would run release on 0 records; 6 are held: p009")
		swept(0)
		late := item(storetest.Parcel{ID: "late", State: "held", Holder: fsm.Some("cy"), Due: fsm.Some(start)})
		if r, err := adopt.Import(t.Context(), m, adopt.Of(late), adopt.Options{}); err != nil || r.Fit != 1 {
			t.Fatal(r, err)
		}
		swept(1) // what is due from the instant on is not held
		if err := m.HoldDeadlines(start.Add(-time.Hour), "release"); err != nil {
			t.Fatal(err)
		}
		due("a sweep would run release on 6 records: p009")
		if err := m.HoldDeadlines(start.Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		swept(0)
		if err := m.HoldDeadlines(time.Time{}); err != nil {
			t.Fatal(err)
		}
		swept(6)
		due()
	})
}

// A program that writes while a page is imported costs that record, and no other.
func TestImportMeetsAWriter(t *testing.T) {
	t.Parallel()
	m := open(t, memstore.New())
	list := func(yield func(adopt.Item[storetest.Parcel], error) bool) {
		for i := range 9 {
			if !yield(item(storetest.Parcel{ID: fmt.Sprint("p", i), State: "shelved", Slot: fsm.Some(fmt.Sprint("s", i))}), nil) {
				return
			}
		}
	}
	taken := item(storetest.Parcel{ID: "other", State: "shelved", Slot: fsm.Some("s4")})
	if _, err := m.Import(t.Context(), taken.Record, taken.Call); err != nil {
		t.Fatal(err)
	}
	r, err := adopt.Import(t.Context(), m, list, adopt.Options{})
	if err != nil || r.Fit != 8 || r.Odd != 1 {
		t.Fatal(r, err)
	}
	if first := r.Rules[0].First[0]; first.ID != "p4" || !errors.Is(first.Err, storetest.ErrSlotTaken) {
		t.Error(r)
	}
	broken := errors.New("the table went away")
	r, err = adopt.Try(t.Context(), m, func(yield func(adopt.Item[storetest.Parcel], error) bool) {
		yield(adopt.Item[storetest.Parcel]{}, broken)
	}, adopt.Options{})
	if !errors.Is(err, broken) || r.Records != 0 {
		t.Error(r, err)
	}
}
