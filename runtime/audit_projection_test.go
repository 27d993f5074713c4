package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// lanes is a machine with the projection of parcels by lane, in which no lane may
// ever be idle again.
func lanes(t *testing.T, store fsm.Store, change func(*fsmimpl.Projection), opts ...fsm.Option) *machine {
	t.Helper()
	s := storetest.Schema()
	if err := fsmimpl.Migrate(t.Context(), store, s); err != nil {
		t.Fatal(err)
	}
	d := storetest.Descriptor(s)
	d.Projection = storetest.Lanes()
	d.Projection.Moves = slices.DeleteFunc(d.Projection.Moves, func(m fsmimpl.Move) bool { return m == fsmimpl.Move{From: "busy", To: "idle"} })
	if change != nil {
		change(d.Projection)
	}
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), append([]fsm.Option{fixed()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// used makes a parcel that is held and given back: the lane is busy, and idle.
func used(t *testing.T, m *machine, id, lane string) outcome {
	t.Helper()
	out := must(t)(m.Create(t.Context(), storetest.Register(meta("new "+id), storetest.RegisterInput{ID: id, Lane: lane})))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta("hold "+id), lane, start.Add(time.Hour))))
	return must(t)(m.Apply(t.Context(), out, storetest.Expel(meta("expel "+id))))
}

func texts(t *testing.T, audit iter.Seq2[audit.Finding, error]) (list []string) {
	t.Helper()
	for f, err := range audit {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f.String())
	}
	return list
}

func TestProjectionFindingSaysWhat(t *testing.T) {
	t.Parallel()
	m := lanes(t, newStore(), nil)
	used(t, m, "p1", "a")
	used(t, m, "p2", "a")
	want := []string{`projection: "p1" at revision 3: the step from "held" to "waiting" moves the Lane {"lane":"a"} from "busy" to "idle", which the machine does not allow; 1 more steps of this group do the same`}
	if d := cmp.Diff(want, texts(t, audit.Run(t.Context(), m))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if h := audit.HealthOf(m); h.Findings[audit.CheckProjection] != 1 || h.Sound() {
		t.Errorf("health: %+v", h)
	}
	for range audit.Run(t.Context(), m) {
		break // the reader has had enough
	}
}

// With room for a few groups only, the log is read as often as it takes, and each
// group is judged once.
func TestProjectionInPasses(t *testing.T) {
	t.Parallel()
	counted := 0
	store := &wrapped{Store: newStore()}
	m := lanes(t, store, nil)
	want := []string{}
	for i := range 60 {
		id := fmt.Sprintf("p%02d", i)
		used(t, m, id, "lane of "+id)
		want = append(want, id)
	}
	store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		return table.View(ctx, func(r driver.Reader) error { return f(&reading{Reader: r, logs: &counted}) })
	}
	for _, room := range []int{1000, 7, 1} {
		counted = 0
		var got []string
		for f, err := range audit.RunWith(t.Context(), m, audit.Options[storetest.Parcel]{Groups: room}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, f.ID)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("room for %d (-want +got):\n%s", room, d)
		}
		if passes := counted; room < 1000 && passes < 60/room || room == 1000 && passes > 4 {
			t.Errorf("room for %d: the log was read in %d pieces", room, passes)
		}
	}
}

// reading shows another log of all records than there is.
type reading struct {
	driver.Reader
	logs    *int
	shown   func(*fsm.Entry) bool
	sorted  func([]fsm.Entry)
	refused error
}

func (r *reading) Log(after fsm.Cursor, limit int) ([]fsm.Entry, error) {
	if r.logs != nil {
		*r.logs++
	}
	list, err := r.Reader.Log(after, limit)
	shown := list[:0]
	for _, e := range list {
		if r.shown == nil || r.shown(&e) {
			shown = append(shown, e)
		}
	}
	list = shown
	if r.sorted != nil {
		r.sorted(list)
	}
	return list, errors.Join(err, r.refused)
}

// unsure is one that does not know in which order things were done.
type unsure struct {
	reading
	order func(a, b *fsm.Entry) bool
}

func (r *unsure) Blurred(a, b *fsm.Entry) bool { return r.order(a, b) }

func reads(store *wrapped, with func(driver.Reader) driver.Reader) {
	store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		return table.View(ctx, func(r driver.Reader) error { return f(with(r)) })
	}
}

func TestProjectionOfALogThatIsNotWhole(t *testing.T) {
	t.Parallel()
	now := start
	store := &wrapped{Store: newStore()}
	m := lanes(t, store, func(p *fsmimpl.Projection) {
		p.Rules = slices.Insert(p.Rules, 0, fsmimpl.ProjectionRule{State: "done", Any: []string{"sent"}})
		p.Moves = append(p.Moves, fsmimpl.Move{From: "busy", To: "done"})
	}, fsm.WithClock(func() time.Time { return now }))
	out := must(t)(m.Create(t.Context(), storetest.Register(meta("1"), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta("2"), "a", start.Add(time.Hour))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta("3"), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta("4"))))
	out = must(t)(m.Create(t.Context(), storetest.Register(meta("5"), in("p2"))))
	must(t)(m.Apply(t.Context(), out, storetest.Hold(meta("6"), "a", start.Add(time.Hour))))
	now = start.Add(2 * time.Hour)
	if n, err := m.Sweep(t.Context()); n != 1 || err != nil { // the lane is done, and stays so
		t.Fatalf("swept %d, %v", n, err)
	}
	if got := texts(t, audit.Run(t.Context(), m)); got != nil {
		t.Fatalf("before the purge: %v", got)
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := audit.Purge(t.Context(), m, audit.PurgeOptions{Before: start.Add(3 * time.Hour), Actor: "root", Reason: "old"}); n != 1 || err != nil {
		t.Fatalf("purged %d, %v", n, err)
	}
	if got := texts(t, audit.Run(t.Context(), m)); got != nil {
		t.Errorf("after it: %v", got)
	}
	hidden := func(e *fsm.Entry) bool { return e.Operation != "__purge" }
	reads(store, func(r driver.Reader) driver.Reader { return &reading{Reader: r, shown: hidden} })
	if got := texts(t, audit.Run(t.Context(), m)); got != nil {
		t.Errorf("while the log does not show the purge: %v", got)
	}
	for inputs, found := range map[string]bool{
		`{}`:                           false, // of a program that did not say where the record was
		`{"group":7}`:                  false,
		`{"group":"here"}`:             false,
		`{"group":"7"}`:                false,
		`{"group":"0000000000000007"}`: true, // of another group
	} {
		reads(store, func(r driver.Reader) driver.Reader {
			return &reading{Reader: r, shown: func(e *fsm.Entry) bool {
				if e.Operation == "__purge" {
					e.Inputs = fsm.MustJSON(inputs)
				}
				return true
			}}
		})
		if got := texts(t, audit.Run(t.Context(), m)); (got != nil) != found {
			t.Errorf("of a purge of %s: %v", inputs, got)
		}
	}
	reads(store, func(r driver.Reader) driver.Reader {
		return &reading{Reader: r, shown: func(e *fsm.Entry) bool { return e.ID != "p1" }}
	})
	if got := texts(t, audit.Run(t.Context(), m)); len(got) != 1 || !strings.Contains(got[0], `projection: "p2" at revision 3`) {
		t.Errorf("when nothing tells of p1, the audit found %v, want p2", got)
	}
	reads(store, func(r driver.Reader) driver.Reader {
		return &reading{Reader: r, refused: fmt.Errorf("here: %w", errors.ErrUnsupported)}
	})
	if got := texts(t, audit.Run(t.Context(), m)); got != nil {
		t.Errorf("without a log of all records: %v", got)
	}
	reads(store, func(r driver.Reader) driver.Reader { return &reading{Reader: r, refused: errLost} })
	for _, err := range audit.Run(t.Context(), m) {
		if !errors.Is(err, errLost) {
			t.Errorf("the log cannot be read: %v", err)
		}
	}
}

// What is wrong with a record is told once: not for its group too.
func TestProjectionOfABrokenRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tamper driver.Reader
		want   []string
	}{
		"nothing else":      {&tampered{}, []string{audit.CheckProjection}},
		"a row that is off": {&tampered{row: func(r *driver.Row) { r.Values[10] = int64(7) }}, []string{audit.CheckFold}},
		"an altered event": {&tampered{event: func(e *fsm.Event) bool {
			if e.ID == "p2" && e.Rev == 1 {
				e.Actor = "eve"
			}
			return true
		}}, []string{audit.CheckSum}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &wrapped{Store: newStore()}
			m := lanes(t, store, nil)
			used(t, m, "p1", "a")
			must(t)(m.Create(t.Context(), storetest.Register(meta("2"), in("p2"))))
			reads(store, func(r driver.Reader) driver.Reader {
				fault := *c.tamper.(*tampered)
				fault.Reader = r
				return &fault
			})
			if got := slices.Compact(findings(t, m)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestProjectionOfOtherVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]string{0: "; version 0 may have allowed it, this is version 1", 2: ""} {
		store := &wrapped{Store: newStore()}
		m := lanes(t, store, nil)
		used(t, m, "p1", "a")
		reads(store, func(r driver.Reader) driver.Reader {
			return &reading{Reader: r, shown: func(e *fsm.Entry) bool {
				e.Version = version
				return true
			}}
		})
		var got []audit.Finding
		for f, err := range audit.Run(t.Context(), m) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, f)
		}
		if want == "" && got != nil || want != "" && (len(got) != 1 || got[0].Must || !strings.HasSuffix(got[0].Message, want)) {
			t.Errorf("steps of version %d: %v", version, got)
		}
	}
}

// Where the order is not known, steps are wrong when no order makes them right.
func TestProjectionWithoutAnOrder(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := lanes(t, store, nil)
	for i := range 8 { // always one or two are held: never idle
		id := fmt.Sprintf("p%d", i)
		must(t)(m.Create(t.Context(), storetest.Register(meta("new "+id), in(id))))
		must(t)(m.Apply(t.Context(), fsm.Ref{ID: id}, storetest.Hold(meta("hold "+id), "a", start.Add(time.Hour))))
		if i > 0 {
			must(t)(m.Apply(t.Context(), fsm.Ref{ID: fmt.Sprintf("p%d", i-1)}, storetest.Expel(meta("expel "+id))))
		}
	}
	swapped := func(list []fsm.Entry) { // some at a time, the ids say the opposite
		for part := range slices.Chunk(list, 6) {
			slices.SortStableFunc(part, func(a, b fsm.Entry) int { return strings.Compare(a.ID, b.ID) })
		}
	}
	all := func(*fsm.Entry, *fsm.Entry) bool { return true }
	for name, c := range map[string]struct {
		order  func(a, b *fsm.Entry) bool
		sorted func([]fsm.Entry)
		found  bool
	}{
		"in order":                           {nil, nil, false},
		"out of order":                       {nil, swapped, true},
		"out of order, which is known":       {all, swapped, false},
		"out of order, where that cannot be": {func(*fsm.Entry, *fsm.Entry) bool { return false }, swapped, true},
	} {
		reads(store, func(r driver.Reader) driver.Reader {
			read := reading{Reader: r, sorted: c.sorted}
			if c.order == nil {
				return &read
			}
			return &unsure{read, c.order}
		})
		if got := texts(t, audit.Run(t.Context(), m)); got != nil != c.found {
			t.Errorf("%s: %v", name, got)
		}
	}
	must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p7"}, storetest.Expel(meta("the last one"))))
	reads(store, func(r driver.Reader) driver.Reader { return &unsure{reading{Reader: r}, all} })
	if got := texts(t, audit.Run(t.Context(), m)); len(got) != 1 {
		t.Errorf("no order makes the last step right: %v", got)
	}
}

// Where the time tells which of two steps was the first, a step is compared with
// the latest one that waits, wherever the log has it.
func TestProjectionOfTimesThatCross(t *testing.T) {
	t.Parallel()
	for last, found := range map[time.Duration]bool{65 * time.Second: false, 109 * time.Second: false, 110 * time.Second: true} {
		store := &wrapped{Store: newStore()}
		m := lanes(t, store, nil)
		at := func(after time.Duration) storetest.Meta {
			with := meta(after.String())
			with.At = start.Add(after)
			return with
		}
		must(t)(m.Create(t.Context(), storetest.Register(at(0), in("p1"))))
		must(t)(m.Create(t.Context(), storetest.Register(at(time.Second), in("p2"))))
		must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, storetest.Hold(at(20*time.Second), "a", start.Add(time.Hour))))
		must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, storetest.Expel(at(100*time.Second)))) // after p2 is held, maybe
		must(t)(m.Create(t.Context(), storetest.Register(at(50*time.Second), in("p3"))))
		must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p2"}, storetest.Hold(at(last), "a", start.Add(time.Hour))))
		reads(store, func(r driver.Reader) driver.Reader {
			return &unsure{reading{Reader: r}, func(a, b *fsm.Entry) bool { return b.At.Before(a.At.Add(10 * time.Second)) }}
		})
		if got := texts(t, audit.Run(t.Context(), m)); (got != nil) != found {
			t.Errorf("p2 is held after %v: found %v", last, got)
		}
	}
}

// A group in which a place is held twice is not told of. What cannot be read while
// the audit looks for what else is wrong ends it.
func TestProjectionOfAStoreThatFails(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := lanes(t, store, nil)
	out := must(t)(m.Create(t.Context(), storetest.Register(meta("1"), storetest.RegisterInput{ID: "p1", Lane: "a", Label: fsm.Some("l")})))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta("2"), "a", start)))
	must(t)(m.Apply(t.Context(), out, storetest.Release()))
	for n, want := range map[int64]string{1: audit.CheckProjection, 2: audit.CheckUnique} {
		reads(store, func(r driver.Reader) driver.Reader { return &failing{Reader: r, counted: n} })
		if got := findings(t, m); !slices.Equal(got, []string{want}) {
			t.Errorf("%d records hold its place: found %v, want %s", n, got, want)
		}
	}
	for name, failing := range map[string]failing{"its rows": {rows: true}, "its places": {count: true}} {
		reads(store, func(r driver.Reader) driver.Reader {
			failing.Reader = r
			return &failing
		})
		var last error
		for f, err := range audit.Run(t.Context(), m) {
			if last = err; err == nil {
				t.Errorf("%s cannot be read: %v", name, f)
			}
		}
		if !errors.Is(last, errLost) {
			t.Errorf("%s cannot be read: %v", name, last)
		}
	}
}

// failing is a reader of which queries with conditions fail.
type failing struct {
	driver.Reader
	rows, count bool
	counted     int64 // what is counted, where it is not 0
}

func (r *failing) Doubles(u *driver.UniqueRule, after string, limit int) ([]driver.Double, error) {
	if r.counted > 1 && u.Name == "dedupe_register" {
		return []driver.Double{{First: "p1", Last: "p2", Count: r.counted}}, nil
	}
	return r.Reader.Doubles(u, after, limit)
}

func (r *failing) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	if r.rows && q.Where != nil {
		return func(yield func(driver.Row, error) bool) { yield(driver.Row{}, errLost) }
	}
	return r.Reader.Rows(q)
}

func (r *failing) Count(q driver.Query) (int64, error) {
	if r.count && q.Where != nil {
		return 0, errLost
	}
	if r.counted > 0 && q.Where != nil {
		return r.counted, nil
	}
	return r.Reader.Count(q)
}

// A group that never rests is judged all the same while its log is right.
func TestProjectionOfABusyGroup(t *testing.T) {
	t.Parallel()
	for _, wrong := range []bool{false, true} {
		store := &wrapped{Store: newStore()}
		m := lanes(t, store, func(p *fsmimpl.Projection) { // there are 150
			p.Rules = slices.Insert(p.Rules, 0, fsmimpl.ProjectionRule{State: "flooded", Any: []string{"sent"}, AtLeast: 151})
		})
		must(t)(m.Create(t.Context(), storetest.Register(meta("p0"), in("p0"))))
		must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p0"}, storetest.Hold(meta("hold"), "a", start.Add(time.Hour))))
		for i := range 150 {
			used(t, m, fmt.Sprintf("p%d", i+1), "a")
			if i%3 == 0 {
				must(t)(m.Create(t.Context(), storetest.Register(meta(fmt.Sprintf("new %d", i)), in(fmt.Sprintf("q%d", i)))))
			}
		}
		if wrong {
			must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p0"}, storetest.Expel(meta("wrong"))))
		}
		reads(store, func(r driver.Reader) driver.Reader {
			return &unsure{reading{Reader: r}, func(*fsm.Entry, *fsm.Entry) bool { return true }}
		})
		if got := texts(t, audit.Run(t.Context(), m)); len(got) > 0 != wrong {
			t.Errorf("a wrong end: %t, found %v", wrong, got)
		}
	}
}
