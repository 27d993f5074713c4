package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Each cause of a refusal has its own code, and a refused call leaves no trace.
var callTests = []test{
	{"creation", func(b *bench) {
		d := b.open()
		out := d.must(d.Create(d.ctx, Register(
			Meta{RequestID: "r", Actor: "ann", Reason: "new", Labels: map[string]string{"k": "v"}},
			RegisterInput{Label: fsm.Some("l"), Lane: "a", Weight: fsm.Some(int64(3)), Tags: fsm.NewSet("y", "x")})))
		d.fresh(out)
		p, e := out.Record, out.Events[0]
		if p.Rev != 1 || p.State != "waiting" || !p.CreatedAt.Equal(instant) || !p.UpdatedAt.Equal(instant) || driver.CheckID(p.ID) != nil {
			d.Errorf("got %+v", p)
		}
		want := fsm.Event{
			ID: p.ID, Rev: 1, Operation: "register", Name: "register", To: "waiting", At: instant,
			Actor: "ann", Reason: "new", RequestID: "r", Fingerprint: e.Fingerprint,
			Labels:  map[string]string{"k": "v"},
			Inputs:  fsm.MustJSON(`{"label":"l","lane":"a","weight":3,"tags":["x","y"]}`),
			Changes: fsm.MustJSON(`{"label":"l","lane":"a","weight":3,"tags":["x","y"]}`),
			Image: fsm.MustJSON(`{"created_at":"2026-03-01T12:00:00.123456Z","updated_at":"2026-03-01T12:00:00.123456Z",` +
				`"label":"l","lane":"a","slot":null,"holder":null,"weight":3,"fragile":null,"due":null,"note":null,"size":null,` +
				`"tags":["x","y"],"moves":0}`),
			Version: 1,
		}
		want.Sum = driver.Checksum(&want)
		d.same([]string{eventText(want)}, []string{eventText(e)})
		d.same([]string{eventText(want)}, []string{eventText(d.events(p.ID)[0])})
	}},
	{"the ways to name a record", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		out = d.must(d.Apply(d.ctx, out, Bill(Meta{})))
		out = d.must(d.Apply(d.ctx, out.Record, annotation("held")))
		d.fresh(out)
		out = d.must(d.Apply(d.ctx, &out.Record, annotation("pointer")))
		d.fresh(out)
		out = d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1", Rev: 4}, annotation("ref")))
		d.fresh(out)
		out = d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1"}, annotation("whatever revision")))
		d.fresh(out)
		if out.Record.Rev != 6 {
			d.Errorf("rev is %d, want 6", out.Record.Rev)
		}
	}},
	{"an edited record decides nothing", func(b *bench) {
		d := b.open()
		held := d.hold("p1", "a").Record
		mine := held
		mine.Holder = fsm.Some("eve")
		out := d.must(d.Apply(d.ctx, mine, Touch(Meta{RequestID: "t", Actor: "eve"}, instant.Add(time.Hour))))
		if !out.RecordOnly || out.Events[0].Guard != "right_holder" || d.parcel("p1").Holder != held.Holder {
			d.Errorf("got %+v, want it recorded only: somebody else holds the parcel", out)
		}
		mine = held
		mine.Moves, mine.UpdatedAt, mine.Tags = 40, instant.Add(time.Hour), fsm.NewSet("x")
		out = d.must(d.Apply(d.ctx, mine, annotation("x")))
		if p := d.parcel("p1"); p.Moves != held.Moves || !p.UpdatedAt.Equal(instant) || p.Tags.Len() != 0 || out.Record.Moves != held.Moves {
			d.Errorf("got %+v, want only what was decided", p)
		}
		mine = d.parcel("p1")
		mine.Holder = fsm.Some("eve")
		out = d.must(d.Apply(d.ctx, mine, Touch(Meta{Actor: "ann"}, instant.Add(2*time.Hour))))
		if out.RecordOnly {
			d.Errorf("got %+v, want the step: only the copy says that somebody else holds the parcel", out)
		}
		d.register("p2", "b")
		d.must(d.Apply(d.ctx, mixture{out.Record, fsm.Ref{ID: "p2", Rev: 1}}, annotation("y")))
		if p := d.parcel("p2"); p.Rev != 2 || d.parcel("p1").Rev != out.Record.Rev {
			d.Errorf("p2 is at revision %d, want 2: the call named it, whatever record the target holds", p.Rev)
		}
		d.register("p3", "b")
		other := out
		other.Record.ID = "p3"
		d.must(d.Apply(d.ctx, other, annotation("y")))
		if p := d.parcel("p3"); p.Rev != 1 {
			d.Errorf("p3 is at revision %d: the call named p1", p.Rev)
		}
	}},
	{"an operation of another kind", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		before := d.dump()
		for what, call := range map[string]func() error{
			"a creation of a record that is there": func() error {
				_, err := d.Apply(d.ctx, out, Register(Meta{}, RegisterInput{Lane: "a"}))
				return err
			},
			"a creation of a record that is named": func() error {
				_, err := d.Apply(d.ctx, fsm.Ref{ID: "p9", Rev: 1}, Register(Meta{}, RegisterInput{Lane: "a"}))
				return err
			},
			"a step as a creation": func() error { _, err := d.Create(d.ctx, Bill(Meta{})); return err },
			"a creation as a pick": func() error { _, err := d.Pick(d.ctx, 1, Register(Meta{}, RegisterInput{Lane: "a"})); return err },
			"a step as a pick":     func() error { _, err := d.Pick(d.ctx, 1, Bill(Meta{})); return err },
			"an unknown operation": func() error {
				_, err := d.Apply(d.ctx, out, fsmimpl.Call[Parcel]{Operation: &fsmimpl.Operation[Parcel]{Name: "bill"}})
				return err
			},
			"a call of no operation": func() error { _, err := d.Apply(d.ctx, out, fsmimpl.Call[Parcel]{}); return err },
			"a call of a nil record": func() error { _, err := d.Apply(d.ctx, (*Parcel)(nil), Bill(Meta{})); return err },
			"a call of no record":    func() error { _, err := d.Apply(d.ctx, nil, Bill(Meta{})); return err },
		} {
			err := call()
			var r *fsm.Refusal
			var ambiguous *fsm.AmbiguousError
			if err == nil || errors.As(err, &r) || errors.As(err, &ambiguous) || strings.Contains(err.Error(), "pure method") {
				d.Errorf("%s: got %v, want an error that speaks of the call", what, err)
			}
		}
		d.same(before, d.dump())
		if calls := d.performed(); calls != "" {
			d.Errorf("effects were performed: %s", calls)
		}
	}},
	{"a broken unique rule does not hide the existing record", func(b *bench) {
		b.schema.Uniques = append([]driver.UniqueRule{{Name: "one_per_lane", Columns: []string{"lane"}}}, b.schema.Uniques...)
		if err := fsmimpl.Migrate(b.ctx, b.store, b.schema); err != nil {
			b.Fatal(err)
		}
		d := b.open()
		in := RegisterInput{Lane: "a", Label: fsm.Some("l")}
		first := d.must(d.Create(d.ctx, Register(Meta{}, in)))
		out := d.must(d.Create(d.ctx, Register(Meta{}, in)))
		if !out.Existing || out.Record.ID != first.Record.ID {
			d.Errorf("got %+v, want the existing record", out)
		}
	}},
	{"the event of a step", func(b *bench) {
		d := b.open()
		held := d.hold("p1", "a")
		d.tick(time.Second)
		out := d.must(d.Apply(d.ctx, held, Shelve(Meta{RequestID: "r"}, "s1", "t1")))
		e := out.Events[0]
		if e.Changes != fsm.MustJSON(`{"slot":"s1","holder":null,"due":null,"tags":["t1"],"moves":1}`) || !e.Image.IsZero() {
			d.Errorf("changes are %s, image %q", e.Changes, e.Image)
		}
		if e.From != "held" || e.To != "shelved" || e.Rev != 3 || e.RequestN != -1 || !e.At.Equal(instant.Add(time.Second)) {
			d.Errorf("got %+v", e)
		}
		if !out.Record.UpdatedAt.Equal(e.At) || !out.Record.CreatedAt.Equal(instant) {
			d.Errorf("created %v, updated %v", out.Record.CreatedAt, out.Record.UpdatedAt)
		}
		d.fresh(out)
	}},
	{"updated_at never falls", func(b *bench) {
		d := b.open()
		d.register("p1", "a")
		c := annotation("x")
		c.At = instant.Add(-time.Hour)
		out := d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1", Rev: 1}, c))
		if !out.Record.UpdatedAt.Equal(instant) || !out.Events[0].At.Equal(instant.Add(-time.Hour)) {
			d.Errorf("updated %v, event %v", out.Record.UpdatedAt, out.Events[0].At)
		}
		d.fresh(out)
	}},
	{"json survives as it is", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		for _, text := range []string{"null", `{"$json":1}`, `{"$json":{"$json":null}}`, `"\u0041<>"`, `{"b":1.0,"a":[],"b":2}`, `1e400`} {
			out = d.must(d.Apply(d.ctx, out, Annotate(Meta{RequestID: text}, fsm.Some(fsm.MustJSON(text)), fsm.Optional[string]{}, fsm.Optional[bool]{})))
			d.fresh(out)
			again := d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1", Rev: 1}, Annotate(Meta{RequestID: text}, fsm.Some(fsm.MustJSON(text)), fsm.Optional[string]{}, fsm.Optional[bool]{})))
			d.replays(out, again, out.Ref(), "waiting")
		}
		out = d.must(d.Apply(d.ctx, out, Annotate(Meta{}, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Some(true))))
		d.fresh(out)
	}},
	{"existing", func(b *bench) {
		d := b.open()
		first := d.must(d.Create(d.ctx, Register(Meta{RequestID: "r1"}, RegisterInput{ID: "p1", Label: fsm.Some("l"), Lane: "a"})))
		moved := d.must(d.Apply(d.ctx, first, Hold(Meta{Actor: "ann"}, "a", instant)))
		before := d.dump()
		out := d.must(d.Create(d.ctx, Register(Meta{RequestID: "r2"}, RegisterInput{ID: "p2", Label: fsm.Some("l"), Lane: "b"})))
		d.same(before, d.dump())
		if !out.Existing || out.Replayed || out.Ref() != moved.Ref() || out.Current != moved.Ref() || len(out.Events) != 0 {
			d.Errorf("got %+v, want the existing record at %v", out, moved.Ref())
		}
	}},
	{"exists", func(b *bench) {
		d := b.open()
		d.register("p1", "a")
		d.refused(fsm.ErrExists, func() (outcome, error) {
			return d.Create(d.ctx, Register(Meta{RequestID: "r"}, RegisterInput{ID: "p1", Lane: "a"}))
		})
	}},
	{"not found", func(b *bench) {
		d := b.open()
		r := d.refused(fsm.ErrNotFound, func() (outcome, error) {
			return d.Apply(d.ctx, fsm.Ref{ID: "p1", Rev: 1}, annotation("x"))
		})
		if r.ID != "p1" {
			d.Errorf("the refusal names %q", r.ID)
		}
		if _, err := d.Record(d.ctx, "p1"); !errors.Is(err, fsm.ErrNotFound) {
			d.Errorf("Record: got %v, want ErrNotFound", err)
		}
		for _, err := range d.History(d.ctx, "p1") {
			if !errors.Is(err, fsm.ErrNotFound) {
				d.Errorf("History: got %v, want ErrNotFound", err)
			}
		}
	}},
	{"stale", func(b *bench) {
		d := b.open()
		old := d.register("p1", "a")
		d.must(d.Apply(d.ctx, old, annotation("x")))
		for _, at := range []fsm.Target{old, old.Record, old.Ref(), fsm.Ref{ID: "p1", Rev: 9}} {
			r := d.refused(fsm.ErrStale, func() (outcome, error) { return d.Apply(d.ctx, at, annotation("y")) })
			if r.Rev != 2 || r.Expected != at.Ref().Rev || !errors.Is(r, fsm.ErrStale) || r.Retry() != fsm.ReadAgain {
				d.Errorf("got %+v", r)
			}
		}
	}},
	{"recorded whatever the revision", func(b *bench) {
		d := b.open()
		made := d.register("p1", "a")
		held := d.must(d.Apply(d.ctx, made, Hold(Meta{Actor: "ann"}, "a", instant)))
		last := d.must(d.Apply(d.ctx, d.must(d.Apply(d.ctx, held, Shelve(Meta{}, "s", "t"))), Send(Meta{})))
		touch := func(id string) fsmimpl.Call[Parcel] { return Touch(Meta{Actor: "ann", RequestID: id}, instant) }
		for i, at := range []fsm.Target{held, held.Record, held.Ref(), fsm.Ref{ID: "p1", Rev: 99}, last, fsm.Ref{ID: "p1"}} {
			out := d.must(d.Apply(d.ctx, at, touch(fmt.Sprint("r", i))))
			if !out.RecordOnly || out.Replayed || out.Ref() != last.Ref() || out.Events[0].N != int64(i+1) || out.Events[0].Rev != last.Ref().Rev {
				d.Errorf("at %v: got %+v, want number %d of those that are recorded at %v", at.Ref(), out, i+1, last.Ref())
			}
		}
		if out := d.must(d.Apply(d.ctx, held, touch("r0"))); !out.Replayed || !out.RecordOnly || out.Events[0].N != 1 {
			d.Errorf("got %+v, want the first call again", out)
		}
		d.refused(fsm.ErrStale, func() (outcome, error) { return d.Apply(d.ctx, held, Shelve(Meta{}, "s", "t")) })
		outs, err := d.ApplyMany(d.ctx, []fsmimpl.Item[Parcel]{{At: held, Call: touch("m0")}, {At: made, Call: touch("m1")}})
		if err != nil || !outs[0].RecordOnly || !outs[1].RecordOnly {
			d.Errorf("together: %+v, %v", outs, err)
		}
		d.fresh(last)
	}},
	{"stale before anything else, terminal records too", func(b *bench) {
		d := b.open()
		old := d.shelve("p1", "a")
		d.must(d.Apply(d.ctx, old, Send(Meta{})))
		d.refused(fsm.ErrStale, func() (outcome, error) { return d.Apply(d.ctx, old, Send(Meta{})) })
		// what the old copy refuses is not what counts
		waiting := d.register("p2", "a")
		held := d.must(d.Apply(d.ctx, waiting, Hold(Meta{Actor: "ann"}, "a", instant)))
		d.refused(fsm.ErrStale, func() (outcome, error) { return d.Apply(d.ctx, waiting, Shelve(Meta{}, "s", "t")) })
		d.refused(fsm.ErrStale, func() (outcome, error) { return d.Apply(d.ctx, waiting, Expel(Meta{Actor: "op", Reason: "x"})) })
		d.fresh(held)
	}},
	{"wrong state and terminal", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		r := d.refused(fsm.ErrWrongState, func() (outcome, error) { return d.Apply(d.ctx, out, Send(Meta{})) })
		if r.State != "waiting" || r.Operation != "send" || r.Allowed != "shelved" {
			d.Errorf("got %+v", r)
		}
		sent := d.must(d.Apply(d.ctx, d.shelve("p2", "a"), Send(Meta{})))
		for _, at := range []fsm.Target{sent, sent.Ref(), fsm.Ref{ID: "p2"}} {
			d.refused(fsm.ErrTerminal, func() (outcome, error) { return d.Apply(d.ctx, at, annotation("x")) })
			d.refused(fsm.ErrTerminal, func() (outcome, error) { return d.Apply(d.ctx, at, Bill(Meta{})) })
		}
	}},
	{"guard over other records", func(b *bench) {
		d := b.open()
		for i := range 3 {
			d.shelve(fmt.Sprint("p", i), "a")
		}
		held := d.hold("p4", "a")
		r := d.refused(fsm.ErrGuard, func() (outcome, error) { return d.Apply(d.ctx, held, Shelve(Meta{}, "s", "t")) })
		if r.Guard != "lane_open" || !errors.Is(r, ErrLaneFull) || !errors.Is(r, fsm.ErrGuard) {
			d.Errorf("got %+v", r)
		}
		d.must(d.Apply(d.ctx, fsm.Ref{ID: "p0"}, Shelve(Meta{}, "another", "t"))) // itself is not its peer
		d.must(d.Apply(d.ctx, fsm.Ref{ID: "p0"}, Send(Meta{})))
		d.fresh(d.must(d.Apply(d.ctx, held, Shelve(Meta{}, "s", "t"))))
	}},
	{"not unique", func(b *bench) {
		d := b.open()
		d.must(d.Apply(d.ctx, d.hold("p1", "a"), Shelve(Meta{}, "s", "t")))
		held := d.hold("p2", "b")
		r := d.refused(fsm.ErrNotUnique, func() (outcome, error) { return d.Apply(d.ctx, held, Shelve(Meta{}, "s", "t")) })
		if r.Name != "one_per_slot" || !errors.Is(r, ErrSlotTaken) || !errors.Is(r, fsm.ErrNotUnique) || r.ID != "p2" || r.State != "held" {
			d.Errorf("got %+v", r)
		}
	}},
	{"invalid calls", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		note := func(m Meta) func() (outcome, error) {
			return func() (outcome, error) { return d.Apply(d.ctx, out, bare(m)) }
		}
		long := strings.Repeat("x", driver.MaxID+1)
		for _, c := range []struct {
			name string
			code fsm.Code
			call func() (outcome, error)
		}{
			{"request_id", fsm.ErrInvalidInput, note(Meta{RequestID: "sys:release:2"})},
			{"request_id", fsm.ErrInvalidInput, note(Meta{RequestID: long})},
			{"request_id", fsm.ErrInvalidInput, note(Meta{RequestID: "a\x00b"})},
			{"request_id", fsm.ErrInvalidInput, note(Meta{RequestID: "a\xffb"})},
			{"actor", fsm.ErrInvalidInput, note(Meta{Actor: long})},
			{"", fsm.ErrSystemActor, note(Meta{Actor: driver.SystemActor})},
			{"", fsm.ErrSystemActor, func() (outcome, error) { return d.Apply(d.ctx, out, Expel(Meta{Actor: "system", Reason: "x"})) }},
			{"", fsm.ErrSystemActor, func() (outcome, error) {
				return d.Create(d.ctx, Register(Meta{Actor: "system"}, RegisterInput{Lane: "a"}))
			}},
			{"reason", fsm.ErrInvalidInput, note(Meta{Reason: "\xff"})},
			{"labels", fsm.ErrInvalidInput, note(Meta{Labels: map[string]string{"a": "\x00"}})},
			{"at", fsm.ErrInvalidInput, note(Meta{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})},
			{"", fsm.ErrTooLarge, note(Meta{Reason: strings.Repeat("x", driver.MaxCall+1)})},
			{"", fsm.ErrActorMissing, func() (outcome, error) { return d.Apply(d.ctx, out, Hold(Meta{}, "a", instant)) }},
			{"", fsm.ErrActorMissing, func() (outcome, error) { return d.Apply(d.ctx, out, Expel(Meta{Reason: "x"})) }},
			{"", fsm.ErrReasonMissing, func() (outcome, error) { return d.Apply(d.ctx, out, Expel(Meta{Actor: "op"})) }},
			{"id", fsm.ErrInvalidInput, func() (outcome, error) { return d.Apply(d.ctx, fsm.Ref{}, bare(Meta{})) }},
			{"id", fsm.ErrInvalidInput, func() (outcome, error) {
				return d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: "a\x00", Lane: "a"}))
			}},
			{"lane", fsm.ErrInvalidInput, func() (outcome, error) { return d.Create(d.ctx, Register(Meta{}, RegisterInput{})) }},
			{"request_id", fsm.ErrInvalidInput, func() (outcome, error) {
				c := Release()
				c.RequestID = "mine"
				return d.Apply(d.ctx, out, c)
			}},
		} {
			if r := d.refused(c.code, c.call); r.Name != c.name {
				d.Errorf("%s: the refusal names %q, want %q", c.code, r.Name, c.name)
			}
		}
	}},
	{"the time of a call is the engine's", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		m, err := fsm.NewMachine(d.ctx, d.store, Descriptor(d.schema), noEffects(), fsm.WithClock(func() time.Time { return instant }))
		if err != nil {
			b.Fatal(err)
		}
		late := Meta{At: instant.Add(-time.Hour)}
		for name, call := range map[string]func() error{
			"Apply":  func() error { _, err := m.Apply(d.ctx, out, bare(late)); return err },
			"Create": func() error { _, err := m.Create(d.ctx, Register(late, RegisterInput{Lane: "a"})); return err },
			"Pick": func() error {
				_, err := m.Pick(d.ctx, 1, Hold(Meta{Actor: "ann", At: late.At}, "a", instant))
				return err
			},
			"of the system": func() error {
				c := Release()
				c.At = late.At
				_, err := m.Apply(d.ctx, out, c)
				return err
			},
		} {
			if err := call(); !errors.Is(err, fsm.ErrTimeGiven) {
				d.Errorf("%s, at a time of the caller's: %v, want ErrTimeGiven", name, err)
			}
		}
		if again, err := m.Apply(d.ctx, out, bare(Meta{})); err != nil || !again.Record.UpdatedAt.Equal(instant) {
			d.Errorf("without a time: %+v, %v", again.Record, err)
		}
		then := d.must(d.Apply(d.ctx, d.parcel("p1"), bare(Meta{At: instant.Add(time.Hour)})))
		if !then.Record.UpdatedAt.Equal(instant.Add(time.Hour)) {
			d.Errorf("with WithCallerTime: %+v", then.Record)
		}
	}},
	{"batches are all or nothing", func(b *bench) {
		d := b.open()
		calls := []fsmimpl.Call[Parcel]{
			Register(Meta{RequestID: "r1"}, RegisterInput{ID: "p1", Lane: "a", Label: fsm.Some("l")}),
			Register(Meta{RequestID: "r2"}, RegisterInput{ID: "p2", Lane: "a"}),
			Register(Meta{RequestID: "r1"}, RegisterInput{ID: "p1", Lane: "a", Label: fsm.Some("l")}),
			Register(Meta{RequestID: "r3"}, RegisterInput{ID: "p3", Lane: "b", Label: fsm.Some("l")}),
		}
		outs, err := d.CreateMany(d.ctx, calls)
		if err != nil || len(outs) != 4 || !outs[2].Replayed || !outs[3].Existing || outs[3].Ref() != outs[0].Ref() {
			d.Fatalf("got %+v, %v", outs, err)
		}
		before := d.dump()
		_, err = d.CreateMany(d.ctx, []fsmimpl.Call[Parcel]{
			Register(Meta{}, RegisterInput{ID: "q1", Lane: "a"}), Register(Meta{}, RegisterInput{ID: "p1", Lane: "a"}),
		})
		d.code(err, fsm.ErrExists)
		if !strings.Contains(err.Error(), "item 1") {
			d.Errorf("%q does not name the item", err)
		}
		_, err = d.ApplyMany(d.ctx, []fsmimpl.Item[Parcel]{
			{At: outs[0], Call: annotation("x")}, {At: outs[1], Call: Send(Meta{})},
		})
		d.code(err, fsm.ErrWrongState)
		d.same(before, d.dump())
		items := []fsmimpl.Item[Parcel]{
			{At: outs[0], Call: Annotate(Meta{RequestID: "m1"}, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Optional[bool]{})},
			{At: outs[1], Call: Hold(Meta{RequestID: "m2", Actor: "ann"}, "a", instant)},
		}
		moved, err := d.ApplyMany(d.ctx, items)
		if err != nil || len(moved) != 2 {
			d.Fatalf("got %+v, %v", moved, err)
		}
		d.fresh(moved[0])
		d.fresh(moved[1])
		again, err := d.ApplyMany(d.ctx, items)
		if err != nil {
			d.Fatal(err)
		}
		d.replays(moved[0], again[0], moved[0].Ref(), "waiting")
		d.replays(moved[1], again[1], moved[1].Ref(), "held")
	}},
	{"a context that has ended", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		ctx, cancel := context.WithCancel(d.ctx)
		cancel()
		before := d.dump()
		_, err1 := d.Apply(ctx, out, annotation("x"))
		_, err2 := d.Create(ctx, Register(Meta{}, RegisterInput{Lane: "a"}))
		_, err3 := d.Pick(ctx, 1, Hold(Meta{Actor: "ann"}, "a", instant))
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, context.Canceled) {
				d.Errorf("got %v, want the context's error", err)
			}
		}
		d.same(before, d.dump())
	}},
	{"list, count and history in pages", func(b *bench) {
		d := b.open()
		var calls []fsmimpl.Call[Parcel]
		for i := range 300 {
			calls = append(calls, Register(Meta{}, RegisterInput{ID: fmt.Sprintf("p%03d", i), Lane: "a", Weight: fsm.Some(int64(i % 7))}))
		}
		if _, err := d.CreateMany(d.ctx, calls); err != nil {
			d.Fatal(err)
		}
		for _, c := range []struct {
			q     driver.Query
			n     int
			first string
		}{
			{driver.Query{}, 300, "p000"},
			{driver.Query{Limit: 270}, 270, "p000"},
			{driver.Query{After: "p009"}, 290, "p010"},
			{driver.Query{States: []string{"held"}}, 0, ""},
			{driver.Query{Order: []driver.Order{{Column: "weight", Descending: true}}, Limit: 5}, 5, "p006"},
		} {
			n, first := 0, ""
			for p, err := range d.List(d.ctx, c.q) {
				if err != nil {
					d.Fatal(err)
				}
				if n++; n == 1 {
					first = p.ID
				}
			}
			if n != c.n || first != c.first {
				d.Errorf("%+v: got %d from %q, want %d from %q", c.q, n, first, c.n, c.first)
			}
		}
		counts, err := d.Count(d.ctx)
		if err != nil || len(counts) != 4 || counts["waiting"] != 300 || counts["sent"] != 0 {
			d.Errorf("Count: %v, %v", counts, err)
		}
		out := d.hold("q", "b")
		for i := range 520 { // more record-only events at one revision than a page holds
			if i < 260 {
				d.must(d.Apply(d.ctx, out, Touch(Meta{Actor: "bob"}, instant)))
			} else {
				out = d.must(d.Apply(d.ctx, out, annotation(fmt.Sprint(i))))
			}
			if i == 259 {
				out = d.must(d.Apply(d.ctx, out, Touch(Meta{Actor: "ann"}, instant)))
			}
		}
		var last fsm.Event
		n := 0
		for e, err := range d.History(d.ctx, "q") {
			if err != nil {
				d.Fatal(err)
			}
			if e.Rev < last.Rev || e.Rev == last.Rev && e.N != last.N+1 {
				d.Fatalf("%d.%d follows %d.%d", e.Rev, e.N, last.Rev, last.N)
			}
			last = e
			n++
		}
		if n != 2+521 || last.Rev != out.Record.Rev {
			d.Errorf("got %d events up to revision %d, want %d up to %d", n, last.Rev, 523, out.Record.Rev)
		}
	}},
}

// mixture is a target whose record is not the one that it names.
type mixture struct {
	held Parcel
	ref  fsm.Ref
}

func (m mixture) Held() Parcel { return m.held }
func (m mixture) Ref() fsm.Ref { return m.ref }

// annotation is a call that always works while a parcel is not sent.
func annotation(text string) fsmimpl.Call[Parcel] {
	j, err := fsm.MarshalValue(text)
	if err != nil {
		panic(err)
	}
	return Annotate(Meta{}, fsm.Some(j), fsm.Optional[string]{}, fsm.Optional[bool]{})
}

// bare is an annotation of nothing, by m.
func bare(m Meta) fsmimpl.Call[Parcel] {
	return Annotate(m, fsm.Optional[fsm.JSON]{}, fsm.Optional[string]{}, fsm.Optional[bool]{})
}
