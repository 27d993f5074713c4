package storetest

import (
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// importTests are about records that come from elsewhere.
var importTests = []test{
	{"a record enters in each state", func(b *bench) {
		d := b.open()
		note := fsm.MustJSON(`{"old":"<1>"}`)
		for i, p := range foreign() {
			p.Rev, p.Note, p.Tags = 7, fsm.Some(note), fsm.NewSet("b", "a")
			out := d.must(d.Import(d.ctx, p, importer("from "+p.ID)))
			d.fresh(out)
			p.Rev = 1
			d.same([]string{rowText(Encode(&p))}, []string{rowText(Encode(&out.Record))})
			d.same([]string{rowText(Encode(&p))}, []string{rowText(b.row(p.ID))})
			events := d.events(p.ID)
			if len(events) != 1 {
				d.Fatalf("%s has %d events, want one", p.ID, len(events))
			}
			e := events[0]
			said := fmt.Sprintf("%s %s %d.%d %q>%s %s %s %s %d %s", e.Operation, e.Name, e.Rev, e.N, e.From, e.To,
				e.Actor, e.Reason, e.RequestID, e.RequestN, e.Inputs)
			want := fmt.Sprintf(`__import __import 1.0 "">%s ann moves in from %s 0 {}`, p.State, p.ID)
			if said != want || !e.At.Equal(instant) || e.Image.IsZero() || e.Sum != driver.Checksum(&e) || e.Chain != e.Sum {
				d.Errorf("%d: the log has %s (%+v), want %s", i, said, e, want)
			}
		}
		if _, err := d.Startup(d.ctx); err != nil { // which releases what is held
			d.Fatal(err)
		}
		if n, err := d.Deliver(d.ctx); n != 0 || err != nil || d.performed() != "" {
			d.Errorf("%d effects, %v; an import asks for none", n, err)
		}
		if p := d.parcel("p2"); p.State != "waiting" || p.Rev != 2 || !p.CreatedAt.Equal(instant.Add(-time.Hour)) {
			d.Errorf("p2 is %+v, want it released", p)
		}
		d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1", Rev: 1}, Hold(Meta{Actor: "bob"}, "a", instant.Add(time.Hour))))
		d.must(d.Apply(d.ctx, fsm.Ref{ID: "p3", Rev: 1}, Send(Meta{})))
		d.refused(fsm.ErrTerminal, func() (outcome, error) {
			return d.Apply(d.ctx, fsm.Ref{ID: "p4", Rev: 1}, annotation("x"))
		})
	}},
	{"an import that is due is swept in time", func(b *bench) {
		d := b.open()
		held := foreign()[1]
		held.CreatedAt, held.Due = held.CreatedAt.Add(1), fsm.Some(instant.Add(time.Minute+1)) // finer than what is stored
		out := d.must(d.Import(d.ctx, held, importer("i")))
		d.same([]string{rowText(b.row("p2"))}, []string{rowText(Encode(&out.Record))})
		due := instant.Add(time.Minute)
		for i, before := range []time.Time{{}, due.Add(time.Microsecond), due} { // it is not due, it is held, it is not
			if err := d.HoldDeadlines(before); err != nil {
				d.Fatal(err)
			}
			want := i / 2
			if n, err := d.Sweep(d.ctx); n != want || err != nil {
				d.Errorf("%d: swept %d, %v, want %d", i, n, err, want)
			}
			d.tick(time.Hour)
		}
	}},
	{"an import made again is a replay", func(b *bench) {
		d := b.open()
		p := foreign()[0]
		first := d.must(d.Import(d.ctx, p, importer("i")))
		d.replays(first, d.must(d.Import(d.ctx, p, importer("i"))), first.Ref(), "waiting")
		moved := d.must(d.Apply(d.ctx, first, annotation("x")))
		d.tick(time.Hour)
		d.replays(first, d.must(d.Import(d.ctx, p, importer("i"))), moved.Ref(), "waiting")
		refused := func(want fsm.Code, p Parcel, c fsm.Call) {
			d.Helper()
			d.refused(want, func() (outcome, error) { return d.Import(d.ctx, p, c) })
		}
		refused(fsm.ErrExists, p, importer("other"))
		refused(fsm.ErrExists, p, importer(""))
		other := p
		other.Weight = fsm.Some[int64](5)
		refused(fsm.ErrRequestReused, other, importer("i"))
		other = p
		other.CreatedAt = other.CreatedAt.Add(time.Second)
		refused(fsm.ErrRequestReused, other, importer("i"))
		other = p
		other.ID = "p9"
		refused(fsm.ErrRequestReused, other, importer("i"))
		// Without an id or times the engine gives them.
		other.ID, other.CreatedAt, other.UpdatedAt = "", time.Time{}, time.Time{}
		out := d.must(d.Import(d.ctx, other, importer("")))
		now := instant.Add(time.Hour)
		if r := out.Record; r.ID == "" || !r.CreatedAt.Equal(now) || !r.UpdatedAt.Equal(now) {
			d.Errorf("the engine made %+v", r)
		}
	}},
	{"what no operation could have left is refused", func(b *bench) {
		d := b.open()
		first := foreign()[2]
		first.Label = fsm.Some("mine")
		d.must(d.Import(d.ctx, first, importer("first")))
		refused := func(name string, p Parcel, call fsm.Call, code fsm.Code, names string) {
			d.Helper()
			r := d.refused(code, func() (outcome, error) { return d.Import(d.ctx, p, call) })
			if r.Name != names || r.Operation != "__import" {
				d.Errorf("%s: the refusal names %q of %s: %v, want %q", name, r.Name, r.Operation, r, names)
			}
		}
		sound := foreign()[2]
		sound.ID, sound.Slot = "new", fsm.Some("slot of new")
		text := fsm.MustJSON(`"` + strings.Repeat("x", driver.MaxCall) + `"`)
		for name, c := range map[string]struct {
			change func(p *Parcel)
			code   fsm.Code
			names  string
		}{
			"no such state":       {func(p *Parcel) { p.State = "lost" }, fsm.ErrInvalidInput, "state"},
			"no state":            {func(p *Parcel) { p.State = "" }, fsm.ErrInvalidInput, "state"},
			"a rule of its state": {func(p *Parcel) { p.Slot = first.Holder }, fsm.ErrInvariant, "slot is present (must)"},
			"an empty text":       {func(p *Parcel) { p.Lane = "" }, fsm.ErrInvalidInput, "lane"},
			"no UTF-8":            {func(p *Parcel) { p.Label = fsm.Some("\xff") }, fsm.ErrInvalidInput, "label"},
			"no JSON":             {func(p *Parcel) { p.Note = fsm.Some(fsm.JSON{}) }, fsm.ErrInvalidInput, "note"},
			"an empty member":     {func(p *Parcel) { p.Tags = fsm.NewSet("") }, fsm.ErrInvalidInput, "tags"},
			"no such word":        {func(p *Parcel) { p.Size = fsm.Some("huge") }, fsm.ErrInvalidInput, ""},
			"a year":              {func(p *Parcel) { p.Due = fsm.Some(year(10000)) }, fsm.ErrInvalidInput, "due"},
			"a time that is zero": {func(p *Parcel) { p.Due = fsm.Some(time.Time{}) }, fsm.ErrInvalidInput, "due"},
			"made after it moved": {func(p *Parcel) { p.CreatedAt = p.UpdatedAt.Add(1e6) }, fsm.ErrInvalidInput, "updated_at"},
			"of the future":       {func(p *Parcel) { p.UpdatedAt = instant.Add(1e6) }, fsm.ErrInvalidInput, "updated_at"},
			"the first year":      {func(p *Parcel) { p.CreatedAt = year(0) }, fsm.ErrInvalidInput, "created_at"},
			"a slot that is held": {func(p *Parcel) { p.Slot = first.Slot }, fsm.ErrNotUnique, "one_per_slot"},
			"a label that is had": {func(p *Parcel) { p.Label = first.Label }, fsm.ErrNotUnique, "dedupe_register"},
			"too large":           {func(p *Parcel) { p.Note = fsm.Some(text) }, fsm.ErrTooLarge, ""},
			"an id that is none":  {func(p *Parcel) { p.ID = "\x00" }, fsm.ErrInvalidInput, "id"},
		} {
			p := sound
			c.change(&p)
			refused(name, p, importer("r"), c.code, c.names)
		}
		for name, c := range map[string]struct {
			change func(c *fsm.Call)
			code   fsm.Code
			names  string
		}{
			"nobody":             {func(c *fsm.Call) { c.Actor = "" }, fsm.ErrActorMissing, ""},
			"the system":         {func(c *fsm.Call) { c.Actor = "system" }, fsm.ErrSystemActor, ""},
			"no reason":          {func(c *fsm.Call) { c.Reason = "" }, fsm.ErrReasonMissing, ""},
			"a reserved request": {func(c *fsm.Call) { c.RequestID = "sys:x" }, fsm.ErrInvalidInput, "request_id"},
		} {
			call := importer("r")
			c.change(&call)
			refused(name, sound, call, c.code, c.names)
		}
		d.fresh(d.must(d.Import(d.ctx, sound, importer("r"))))
	}},
	{"a batch of imports is all or nothing", func(b *bench) {
		d := b.open()
		list := foreign()
		all := func(list []Parcel) ([]outcome, error) {
			return d.Batch(d.ctx, func(m *fsm.Machine[Parcel]) error {
				for _, p := range list {
					if _, err := m.Import(d.ctx, p, importer("b "+p.ID)); err != nil {
						return err
					}
				}
				return nil
			})
		}
		before := d.dump()
		bad := foreign()
		bad[3].Lane = ""
		_, err := all(bad)
		d.code(err, fsm.ErrInvalidInput)
		d.same(before, d.dump())
		first, err := all(list[:2])
		if err != nil {
			d.Fatal(err)
		}
		outs, err := all(list) // two of them are there
		if err != nil || len(outs) != 4 || !outs[0].Replayed || outs[2].Replayed {
			d.Fatalf("the batch with two more: %v, %v", outs, err)
		}
		d.replays(first[1], outs[1], first[1].Ref(), "held")
	}},
	{"an import is erased, repaired, purged and forgotten", func(b *bench) {
		d := b.open()
		p := foreign()[3]
		p.Note, p.Tags = fsm.Some(fsm.MustJSON(`"secret"`)), fsm.NewSet("secret")
		d.must(d.Import(d.ctx, p, importer("i")))
		if _, repaired, err := d.Repair(d.ctx, p.ID, "root", "look"); repaired || err != nil {
			d.Errorf("the repair found something: %t, %v", repaired, err)
		}
		o := audit.RedactOptions{Fields: []string{"note", "tags"}, Actor: "root", Reason: "asked"}
		if _, redacted, err := d.Redact(d.ctx, p.ID, o); !redacted || err != nil {
			d.Fatalf("redacted: %t, %v", redacted, err)
		}
		if e := d.events(p.ID)[0]; !e.Redacted() || e.Changes.String()+e.Image.String()+e.Inputs.String() == "" {
			d.Errorf("the redacted event: %+v", e)
		}
		if out := d.must(d.Import(d.ctx, p, importer("i"))); !out.Replayed {
			d.Error("after the redaction the request is no replay")
		}
		before := instant.Add(time.Hour)
		if n, err := d.Purge(d.ctx, audit.PurgeOptions{Before: before, Actor: "root", Reason: "old"}); n != 1 || err != nil {
			d.Fatalf("purged %d, %v", n, err)
		}
		d.refused(fsm.ErrPurged, func() (outcome, error) { return d.Import(d.ctx, p, importer("i")) })
		d.refused(fsm.ErrPurged, func() (outcome, error) { return d.Import(d.ctx, p, importer("again")) })
		if n, err := d.Forget(d.ctx, audit.ForgetOptions{Before: before}); n != 1 || err != nil {
			d.Fatalf("forgot %d, %v", n, err)
		}
		d.fresh(d.must(d.Import(d.ctx, p, importer("i"))))
	}},
}

// importer is who imports, and why.
func importer(requestID string) fsm.Call {
	return fsm.Call{RequestID: requestID, Actor: "ann", Reason: "moves in"}
}

func year(n int) time.Time { return time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC) }

// foreign returns a parcel of each state as another system kept it.
func foreign() []Parcel {
	base := Parcel{Lane: "a", CreatedAt: instant.Add(-time.Hour), UpdatedAt: instant.Add(-time.Minute), Moves: 3}
	list := []Parcel{base, base, base, base}
	for i, st := range []string{"waiting", "held", "shelved", "sent"} {
		list[i].ID, list[i].State = fmt.Sprint("p", i+1), st
	}
	list[1].Holder, list[1].Due = fsm.Some("bob"), fsm.Some(instant.Add(-time.Second))
	list[2].Slot = fsm.Some("slot of p3")
	return list
}
