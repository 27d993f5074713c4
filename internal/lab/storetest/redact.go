package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// redactTests are about what is erased from a record and its log.
var redactTests = []test{
	{"what was erased is nowhere, and the log stays whole", func(b *bench) {
		d := b.open()
		d.start()
		random := rand.New(rand.NewPCG(3, 5))
		for i := range 24 {
			d.erased(random, fmt.Sprintf("p%02d", i))
		}
	}},
	{"an input goes with the field that it feeds", func(b *bench) {
		d := b.open()
		d.fed()
	}},
	{"what a look-up finds by can be erased", func(b *bench) {
		d := b.open()
		for _, id := range []string{"p1", "p2"} {
			d.must(d.Apply(d.ctx, d.register(id, "a"), Annotate(Meta{}, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Some(true))))
		}
		o := audit.RedactOptions{Fields: []string{"size"}, Actor: "root", Reason: "asked"}
		if p, redacted, err := d.Redact(d.ctx, "p1", o); err != nil || !redacted || p.Size.Present() {
			d.Fatalf("%v, redacted: %t, %v", p.Size, redacted, err)
		}
		if got := d.walk(&OfSize, "small", 3, nil); got != "p2" {
			d.Errorf("found by the value of which one was erased: %q", got)
		}
	}},
	{"what others need is not erased", func(b *bench) {
		d := b.open()
		d.hold("p1", "a")
		before := d.dump()
		who := audit.RedactOptions{Actor: "root", Reason: "asked"}
		for _, field := range []string{"label", "slot", "lane", "due", "moves", "nothing"} {
			o := who
			o.Fields = []string{"note", field}
			if _, redacted, err := d.Redact(d.ctx, "p1", o); redacted || !errors.Is(err, fsm.ErrInvalidInput) || !strings.Contains(err.Error(), field) {
				d.Errorf("%s: %v, want ErrInvalidInput that names it", field, err)
			}
		}
		for _, c := range []struct {
			id   string
			o    audit.RedactOptions
			want error
		}{
			{"p1", audit.RedactOptions{Reason: "asked"}, fsm.ErrActorMissing},
			{"p1", audit.RedactOptions{Actor: "root"}, fsm.ErrReasonMissing},
			{"p9", who, fsm.ErrNotFound},
		} {
			if _, _, err := d.Redact(d.ctx, c.id, c.o); !errors.Is(err, c.want) {
				d.Errorf("got %v, want %v", err, c.want)
			}
		}
		if _, redacted, err := d.Redact(d.ctx, "p1", who); redacted || err != nil {
			d.Errorf("nothing to erase: %t, %v", redacted, err)
		}
		d.same(before, d.dump())
		// An effect that waits needs what would be erased.
		out := d.shelve("p2", "b")
		d.must(d.Apply(d.ctx, out, Send(Meta{})))
		before = d.dump()
		who.Fields, who.Actors = []string{"tags"}, true
		if _, _, err := d.Redact(d.ctx, "p2", who); !errors.Is(err, fsm.ErrWrongState) {
			d.Errorf("while an effect waits: %v, want ErrWrongState", err)
		}
		d.same(before, d.dump())
	}},
}

// life is what one record went through, with texts that may have to go.
type life struct {
	id    string
	calls []fsmimpl.Call[Parcel] // that were done, with their requests
}

// lived makes a record and takes it through random steps.
func (d *depot) lived(random *rand.Rand, id string) *life {
	d.Helper()
	l := &life{id: id}
	n := 0
	secret := func(kind string) string { n++; return fmt.Sprintf("%s-%s-%d", kind, id, n) }
	meta := func(actor string) Meta {
		n++
		m := Meta{RequestID: fmt.Sprintf("r %s %d", id, n), Actor: actor}
		if random.IntN(2) == 0 {
			m.Reason = secret("WHY")
		}
		if random.IntN(3) == 0 {
			m.Labels = map[string]string{"who": secret("LABEL")}
		}
		return m
	}
	call := Register(meta(secret("ACTOR")), RegisterInput{ID: id, Lane: "lane " + id, Tags: fsm.NewSet(secret("TAG"))})
	at := d.must(d.Create(d.ctx, call))
	l.calls = append(l.calls, call)
	for range random.IntN(90) {
		p := at.Record
		due := instant.Add(time.Hour)
		holder, _ := p.Holder.Get()
		var call fsmimpl.Call[Parcel]
		switch random.IntN(8) {
		case 0, 1:
			note := fsm.MustJSON(fmt.Sprintf(`{"text":%q}`, secret("NOTE")))
			call = Annotate(meta(secret("ACTOR")), fsm.Some(note), fsm.Some("small"), fsm.Optional[bool]{})
		case 2:
			call = bare(meta(secret("ACTOR")))
		case 3:
			call = Touch(meta(holder), due)
		case 4:
			call = Touch(meta(secret("ACTOR")), due)
		case 5:
			call = Shelve(meta(secret("ACTOR")), "slot "+id, secret("TAG"))
		case 6:
			call = Hold(meta(secret("ACTOR")), p.Lane, due)
		case 7:
			if random.IntN(10) > 0 {
				continue
			}
			call = Send(meta(secret("ACTOR")))
		}
		out, err := d.Apply(d.ctx, fsm.Ref{ID: id}, call)
		var refused *fsm.Refusal
		switch {
		case errors.As(err, &refused):
		case err != nil:
			d.Fatal(err)
		default:
			at = out
			l.calls = append(l.calls, call)
		}
	}
	if _, err := d.another().Startup(d.ctx); err != nil { // which releases what is held
		d.Fatal(err)
	}
	if _, err := d.Deliver(d.ctx); err != nil {
		d.Fatal(err)
	}
	return l
}

// erased makes a record, erases a random part of what it holds, and looks.
func (d *depot) erased(random *rand.Rand, id string) {
	d.Helper()
	l := d.lived(random, id)
	coin := func() bool { return random.IntN(2) == 0 }
	o := audit.RedactOptions{Reasons: coin(), Labels: coin(), Actors: coin(), Actor: "root", Reason: "they asked"}
	for _, field := range []string{"holder", "note", "tags", "weight"} {
		if coin() {
			o.Fields = append(o.Fields, field)
		}
	}
	had := func(field string) bool { return strings.Contains(strings.Join(o.Fields, " "), field) }
	gone := map[string]bool{"WHY-": o.Reasons, "LABEL-": o.Labels, "ACTOR-": o.Actors && had("holder"), "NOTE-": had("note"), "TAG-": had("tags")}
	before, events := d.told(id), d.events(id)
	p, redacted, err := d.Redact(d.ctx, id, o)
	if err != nil {
		d.Fatalf("%s, %+v: %v", id, o, err)
	}
	after := d.told(id)
	some := false
	for kind, erased := range gone {
		some = some || erased && strings.Contains(before, kind)
		switch found := strings.Contains(after, kind); {
		case erased && found:
			d.Errorf("%s, %+v: %s is left in\n%s", id, o, kind, after)
		case !erased && kind != "ACTOR-" && found != strings.Contains(before, kind):
			d.Errorf("%s, %+v: %s is gone, too", id, o, kind)
		}
	}
	if some && !redacted {
		d.Errorf("%s, %+v: nothing was erased", id, o)
	}
	if !redacted {
		return
	}
	list := d.events(id)
	last := list[len(list)-1]
	for i := range events {
		was, is := events[i], list[i]
		marked := is.Redacted()
		was.Fingerprint, was.Sum, is.Fingerprint, is.Sum = "", 0, "", 0
		if changed := eventText(was) != eventText(is); changed != marked {
			d.Errorf("%s: event %d.%d changed: %t, it says so: %t", id, is.Rev, is.N, changed, marked)
		}
	}
	if len(list) != len(events)+1 || last.Operation != "__redact" || last.RecordOnly() || last.Actor != "root" || last.Reason != "they asked" ||
		last.Redacted() || p.Rev != last.Rev || had("note") != strings.Contains(last.Inputs.String(), `"note"`) {
		d.Errorf("%s: the redaction is logged as %+v", id, last)
	}
	for _, call := range l.calls {
		var out outcome
		var err error
		if call.ID != "" {
			out, err = d.Create(d.ctx, call)
		} else {
			out, err = d.Apply(d.ctx, fsm.Ref{ID: id}, call)
		}
		if err != nil || !out.Replayed {
			d.Errorf("%s, %+v: the retry of %s: replayed %t, %v", id, o, call.RequestID, out.Replayed, err)
		}
	}
	for f, err := range d.Audit(d.ctx) {
		d.Fatalf("%s, %+v: audit: %v, %v", id, o, f, err)
	}
	if _, repaired, err := d.Repair(d.ctx, id, "root", "look"); repaired || err != nil {
		d.Errorf("%s: the repair found something: %t, %v", id, repaired, err)
	}
	if _, redacted, err := d.Redact(d.ctx, id, o); redacted || err != nil {
		d.Errorf("%s: erased again: %t, %v", id, redacted, err)
	}
	if p.State != "sent" {
		d.must(d.Apply(d.ctx, p, annotation("and on")))
	}
}

// fed erases a weight whose values came by inputs of four operations, beside inputs of
// other fields and of none that hold the same values.
func (d *depot) fed() {
	d.Helper()
	meta := func(n int) Meta { return Meta{RequestID: fmt.Sprint("f ", n), Actor: "ann"} }
	in := RegisterInput{ID: "p1", Lane: "lane", Weight: fsm.Some[int64](4711), Tags: fsm.NewSet("tag")}
	at := d.must(d.Create(d.ctx, Register(meta(1), in)))
	note := fsm.Some(fsm.MustJSON("4712"))
	if _, err := d.Startup(d.ctx); err != nil {
		d.Fatal(err)
	}
	for _, call := range []fsmimpl.Call[Parcel]{
		Weigh(meta(2), 4712),
		Verify(meta(3), 4712, 4712), // an input that feeds nothing holds the weight
		Annotate(meta(4), note, fsm.Optional[string]{}, fsm.Optional[bool]{}),
		Verify(meta(5), 4713, 4), // the guard fails: it is recorded
		Hold(meta(6), "lane", instant.Add(time.Hour)),
		Shelve(meta(7), "same", "same"),
		Send(meta(8)),
		Weigh(meta(9), 4714), // recorded: no field ever held it
	} {
		at = d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1"}, call))
	}
	if _, err := d.Deliver(d.ctx); err != nil {
		d.Fatal(err)
	}
	if at.Record.Weight != fsm.Some[int64](4712) {
		d.Fatalf("the parcel weighs %v", at.Record.Weight)
	}
	o := audit.RedactOptions{Fields: []string{"weight", "tags"}, Actor: "root", Reason: "asked"}
	if _, redacted, err := d.Redact(d.ctx, "p1", o); !redacted || err != nil {
		d.Fatal(redacted, err)
	}
	var got []string
	for _, e := range d.events("p1") {
		if text := e.Inputs.String(); text != "{}" && e.Operation != "__redact" && e.Operation != "hold" {
			got = append(got, e.Operation+" "+text)
		}
	}
	d.same([]string{
		`register {"label":null,"lane":"lane","tags":null,"weight":null}`,
		`weigh {"grams":null}`,
		`verify {"count":4712,"seen":null}`,
		`annotate {"note":4712,"size":null,"fragile":null}`,
		`verify {"count":4,"seen":null}`,
		`shelve {"slot":"same","tag":null}`,
		`weigh {"grams":null}`,
	}, got)
	for f, err := range d.Audit(d.ctx) {
		d.Fatalf("audit: %v, %v", f, err)
	}
}

// told is all that a store tells of a record.
func (d *depot) told(id string) string {
	d.Helper()
	text := rowText(d.row(id))
	for _, e := range d.events(id) {
		text += "\n" + eventText(e)
	}
	return text
}
