package fsmtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// stage is an opened machine on a store, where cases are played.
type stage[R any] struct {
	p     *Package[R]
	t     *testing.T
	ctx   context.Context
	store fsm.Store
	m     *Durable[R]
	fx    *Effects
	clock *Clock
	n     int // cases that were played
}

// over makes the calls of the cases over a store, which is emptied behind each.
func (p *Package[R]) over(test *testing.T, st Store) {
	t := &report{T: test}
	defer t.done()
	var s *stage[R]
	for i := range p.Cases {
		c := &p.Cases[i]
		if c.NoStore {
			continue
		}
		// Recovery runs once for each process, and what a sequence has given is never given again.
		// A store in memory costs nothing.
		if s == nil || c.By == ByStartup || p.creates(c.Do) && p.numbered() || p.Descriptor.Schema.SQL[st.Name] == "" {
			s = p.stage(test, st)
		}
		if wrong := s.play(c); wrong != "" {
			t.Errorf("case %d: %s:\n\t%s%s", i, c, wrong, p.see(c, wrong))
			s = nil
		} else if p.Descriptor.Schema.SQL[st.Name] == "" {
			s.store.Close()
		} else if err := s.clear(); err != nil {
			t.Fatalf("case %d: %s: to empty the store: %v", i, c, err)
		}
	}
}

// numbered reports whether the machine has a sequence.
func (p *Package[R]) numbered() bool {
	return slices.ContainsFunc(p.Descriptor.Schema.Columns, func(c driver.Column) bool { return c.Kind == driver.KindSequence })
}

// clear removes all records and what is left of them.
func (s *stage[R]) clear() error {
	table, err := s.store.Table(s.p.Descriptor.Schema)
	if err != nil {
		return err
	}
	return table.Update(s.ctx, func(tx fsm.Tx) error {
		var rows []driver.Row
		for row, err := range tx.Rows(driver.Query{}) {
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		for _, row := range rows {
			e := fsm.Event{
				ID: row.ID, Rev: row.Rev, Operation: driver.OpPurge, Name: driver.OpPurge, From: row.State, To: row.State, At: casesNow,
				Actor: driver.SystemActor, RequestID: fmt.Sprintf("%s%s:%d", driver.Reserved, driver.OpPurge, row.Rev), RequestN: -1, Inputs: fsm.MustJSON("{}"),
			}
			e.Sum = driver.Checksum(&e)
			gone, err := tx.Purge(&driver.Write{Prev: row.Ref(), PrevState: row.State, Event: e})
			if err == nil && !gone {
				err = fmt.Errorf("an effect of %q waits", row.ID)
			}
			if err == nil {
				_, err = tx.Forget(row.ID, casesNow.Add(1000*time.Hour))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// stage opens the machine on an empty store.
func (p *Package[R]) stage(t *testing.T, st Store) *stage[R] {
	s := &stage[R]{p: p, t: t, ctx: t.Context(), store: st.Open(t), clock: NewClock(), fx: &Effects{Sources: map[string]Call{}}}
	s.clock.Set(casesNow)
	if err := p.Migrate(s.ctx, s.store); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	var err error
	s.m, err = p.Open(s.ctx, s.store, s.fx, fsm.WithClock(func() time.Time { return AsSent(s.clock.Now()) }), fsm.WithCallerTime(), fsm.WithDelivery(time.Minute, 0))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// played is what a case needs while it is played.
type played[R any] struct {
	*stage[R]
	c      *Case
	call   Call
	id     string     // of the record that the case is about
	before driver.Row // none where the case makes one
	beside []driver.Row
	at     fsm.Target
	ran    int // effects before it
}

// play makes the call of a case and looks at all that comes of it; it says what is wrong.
func (s *stage[R]) play(c *Case) string {
	s.n++
	x := &played[R]{stage: s, c: c, id: caseID, call: c.call(c.With), ran: len(s.fx.Done())}
	x.call.ID = x.id
	if s.p.Descriptor.Schema.RequestID != driver.Never {
		x.call.RequestID = fmt.Sprintf("request-%d", s.n)
	}
	x.before = driver.Row{ID: x.id}
	var rows []driver.Row
	if c.In != "" {
		x.before = s.p.row(x.id, c.In, c.Given)
		x.at = x.before.Ref()
		rows = append(rows, x.before)
	}
	for _, text := range c.Beside {
		id, rest, _ := strings.Cut(text, " ")
		state, given, _ := strings.Cut(rest, " ")
		row := s.p.row(id, state, given)
		rows, x.beside = append(rows, row), append(x.beside, row)
		if id == c.Picks {
			x.id, x.before = id, row
		}
	}
	if s.n == 1 && c.By != ByStartup { // of an empty store: Deliver asks for it
		if _, err := s.m.Startup(s.ctx); err != nil {
			return fmt.Sprintf("Startup: %v", err)
		}
	}
	if err := Seed(s.ctx, s.store, s.p.Descriptor.Schema, rows...); err != nil {
		return err.Error()
	}
	s.clock.Set(x.call.At)
	if c.By == BySweep || c.By == ByStartup {
		return x.triggered()
	}
	out, err := s.m.Do(s.ctx, c.Do, x.at, x.call)
	if err != nil {
		return x.refused(err)
	}
	if c.Want == "existing" {
		return x.existing(out)
	}
	if wrong := x.accepted(out); wrong != "" {
		return wrong
	}
	return x.again(out)
}

// refused looks at a refusal: nothing has changed.
func (x *played[R]) refused(err error) string {
	operation, in := x.c.Do, x.c.In
	if got := refused(err); got != x.c.Want {
		return fmt.Sprintf("%s, want %s", got, x.c.Want)
	}
	if len(x.c.Then) == 0 { // else a step that follows was refused
		if d := x.p.aside(err, operation, in); d != "" {
			return fmt.Sprintf("%v: %s", err, d)
		}
	}
	return x.unchanged()
}

// unchanged looks whether all is as it was: every record, its log, and no effect.
func (x *played[R]) unchanged() string {
	if wrong := x.performed(nil); wrong != "" {
		return wrong
	}
	seeds := slices.Clone(x.beside)
	if x.c.In != "" {
		seeds = append(seeds, x.before)
	}
	for _, seed := range seeds {
		r, err := x.m.Record(x.ctx, seed.ID)
		if err != nil {
			return fmt.Sprintf("read %q: %v", seed.ID, err)
		}
		if d := x.p.differ(seed, x.p.Descriptor.Encode(&r)); d != "" {
			return fmt.Sprintf("it changed %q: %s", seed.ID, d)
		}
		events := 0
		for _, err := range x.m.Core.History(x.ctx, seed.ID) {
			if events++; err != nil {
				return fmt.Sprintf("read the log: %v", err)
			}
		}
		if events != 1 { // how it came about
			return fmt.Sprintf("the log of %q has %d new events", seed.ID, events-1)
		}
	}
	made := func(row driver.Row) bool { return row.ID == caseID }
	if _, err := x.m.Record(x.ctx, caseID); !slices.ContainsFunc(seeds, made) && !errors.Is(err, fsm.ErrNotFound) {
		return fmt.Sprintf("it was refused, and there is a record (%v)", err)
	}
	return ""
}

// existing looks at a creation that found a record.
func (x *played[R]) existing(out fsm.Outcome[R]) string {
	row := x.p.Descriptor.Encode(&out.Record)
	if !out.Existing || out.Replayed || out.RecordOnly || len(out.Events) > 0 {
		return fmt.Sprintf("it made %d events of %q, and existing is %t", len(out.Events), row.ID, out.Existing)
	}
	if d := x.p.differ(x.before, row); d != "" {
		return d
	}
	return x.unchanged()
}

// accepted looks at what a call has done, and then at what follows it.
func (x *played[R]) accepted(out fsm.Outcome[R]) string {
	steps := x.c.steps()
	if len(steps) == 0 {
		return fmt.Sprintf("it was accepted, want %s", x.c.Want)
	}
	rows := x.p.rows(x.before, x.call.At, steps)
	at := len(x.c.Then)
	row := x.p.Descriptor.Encode(&out.Record)
	if row.ID == "" || x.c.In == "" && x.c.Picks == "" && row.ID != x.id {
		return fmt.Sprintf("it made a record %q, want %q", row.ID, x.id)
	}
	switch d := x.p.differ(rows[at], row); {
	case d != "":
		return "the record of the outcome: " + d
	case out.Replayed || out.Existing || out.RecordOnly != steps[0].recorded():
		return fmt.Sprintf("replayed %t, existing %t, recorded only %t", out.Replayed, out.Existing, out.RecordOnly)
	case out.Current != row.Ref() || len(out.Events) != at+1:
		return fmt.Sprintf("it is at %v after %d events, want %v after %d", out.Current, len(out.Events), row.Ref(), at+1)
	}
	if wrong := x.delivered(); wrong != "" {
		return wrong
	}
	for _, other := range x.beside {
		if other.ID == x.id {
			continue
		}
		r, err := x.m.Record(x.ctx, other.ID)
		if err != nil {
			return fmt.Sprintf("read %q: %v", other.ID, err)
		}
		if d := x.p.differ(other, x.p.Descriptor.Encode(&r)); d != "" {
			return fmt.Sprintf("it changed %q: %s", other.ID, d)
		}
	}
	return x.stored(steps, rows, x.call.Actor)
}

// delivered looks at the effects in the transaction, and then at those that wait.
func (x *played[R]) delivered() string {
	waits := func(text string) bool { return !strings.Contains(text, inTransaction) }
	now := slices.IndexFunc(x.c.Effects, waits)
	if now < 0 {
		now = len(x.c.Effects)
	}
	if wrong := x.performed(x.c.Effects[:now]); wrong != "" {
		return wrong
	}
	for range len(x.c.Effects) {
		if _, err := x.m.Deliver(x.ctx); err != nil {
			return fmt.Sprintf("Deliver: %v", err)
		}
	}
	if wrong := x.performed(x.c.Effects); wrong != "" {
		return "after Deliver, " + wrong
	}
	return ""
}

// inTransaction stands in the text of an effect that is a part of its transaction.
const inTransaction = " in the transaction: "

// performed compares the effects that ran with some of those of the case.
func (x *played[R]) performed(want []string) string {
	var got []string
	for _, p := range x.fx.Done()[x.ran:] {
		text := p.Effect + " " + p.Key
		if p.InTx {
			text = p.Effect + inTransaction + p.Key
		}
		got = append(got, text)
	}
	if !slices.Equal(want, got) {
		return fmt.Sprintf("the effects %q were performed, want %q", got, want)
	}
	return ""
}

// stored compares the record and its log in the store.
func (x *played[R]) stored(steps []step, rows []driver.Row, actor string) string {
	r, err := x.m.Record(x.ctx, x.id)
	if err != nil {
		return fmt.Sprintf("read the record: %v", err)
	}
	if d := x.p.differ(rows[len(rows)-1], x.p.Descriptor.Encode(&r)); d != "" {
		return "the stored record: " + d
	}
	var events []fsm.Event
	for e, err := range x.m.Core.History(x.ctx, x.id) {
		if err != nil {
			return fmt.Sprintf("read the log: %v", err)
		}
		events = append(events, e)
	}
	folded, err := x.p.Fold(events)
	if err != nil {
		return fmt.Sprintf("fold the log: %v", err)
	}
	if d := x.p.differ(rows[len(rows)-1], x.p.Descriptor.Encode(&folded)); d != "" {
		return "the log folds to another record: " + d
	}
	if x.before.State != "" {
		events = events[1:] // how it came about
	}
	if len(events) != len(steps) {
		return fmt.Sprintf("the log has %d events, want %d", len(events), len(steps))
	}
	from := x.before.State
	for i, e := range events {
		if wrong := x.logged(e, steps[i], from, rows[i], i, actor); wrong != "" {
			return fmt.Sprintf("event %d: %s", i+1, wrong)
		}
		from = rows[i].State
	}
	return ""
}

// logged compares one event of the log.
func (x *played[R]) logged(e fsm.Event, s step, from string, row driver.Row, i int, actor string) string {
	guard := ""
	if s.recorded() {
		guard = strings.TrimPrefix(strings.TrimPrefix(s.to, "(recorded)"), " for ")
	}
	type entry struct {
		name, from, to, actor, guard string
		rev                          int64
		recorded                     bool
		version                      int
		at                           time.Time
	}
	got := entry{e.Name, e.From, e.To, e.Actor, e.Guard, e.Rev, e.RecordOnly(), e.Version, driver.Time(e.At)}
	if stored := cmp.Or(x.p.Stored[x.c.Do], x.c.Do); i == 0 && e.Operation != stored {
		return fmt.Sprintf("its operation is %q, want %q", e.Operation, stored)
	}
	want := entry{s.event, from, row.State, actor, guard, row.Rev, s.recorded(), x.p.Descriptor.Schema.Version, driver.Time(x.call.At)}
	if i > 0 {
		want.actor = driver.SystemActor
	}
	if x.by() == driver.SystemActor {
		want.actor = driver.SystemActor
	}
	if got != want {
		return fmt.Sprintf("%+v, want %+v", got, want)
	}
	if i == 0 && x.c.By != BySweep && x.c.By != ByStartup {
		if e.Reason != x.call.Reason {
			return fmt.Sprintf("the reason is %q, want %q", e.Reason, x.call.Reason)
		}
		if x.by() == driver.SystemActor && x.c.In != "" {
			if want := fmt.Sprintf("sys:%s:%d", e.Operation, x.before.Rev); e.RequestID != want {
				return fmt.Sprintf("the request is %q, want %q", e.RequestID, want)
			}
		} else if x.call.RequestID != "" && x.by() != driver.SystemActor && e.RequestID != x.call.RequestID {
			return fmt.Sprintf("the request is %q, want %q", e.RequestID, x.call.RequestID)
		}
	}
	with := x.c.With
	if i > 0 {
		with = ""
	}
	if wrong := jsonDiffers(e.Inputs.String(), with); wrong != "" {
		return "the inputs are " + wrong
	}
	var changed []string
	var changes map[string]json.RawMessage
	if err := json.Unmarshal([]byte(e.Changes.String()), &changes); err != nil && !s.recorded() {
		return err.Error()
	}
	for name := range object(s.changes) {
		changed = append(changed, x.p.storedName(name))
	}
	slices.Sort(changed)
	if names := sortedKeys(changes); !slices.Equal(names, changed) && !s.recorded() {
		return fmt.Sprintf("it changes %q, want %q", names, changed)
	}
	return ""
}

// by is who makes the call: the system, or nobody in particular.
func (x *played[R]) by() string {
	if x.c.By == BySweep || x.c.By == ByStartup || slices.Contains(list(x.p.System), x.c.Do) {
		return driver.SystemActor
	}
	return ""
}

func (p *Package[R]) storedName(name string) string {
	for _, c := range p.Descriptor.Schema.Columns {
		if c.Name == name {
			return c.Stored
		}
	}
	return name
}

// jsonDiffers compares what an event holds with what a case says, or "".
func jsonDiffers(got, want string) string {
	decode := func(text string) (v any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber() // each digit counts
		if err := d.Decode(&v); err != nil {
			panic(fmt.Sprintf("fsmtest: %s: %v", text, err))
		}
		return v
	}
	g, _ := decode(cmp.Or(got, "{}")).(map[string]any)
	w := map[string]any{}
	for name, v := range object(want) {
		is := decode(string(v))
		switch s, _ := is.(string); {
		case strings.HasPrefix(s, "@@"):
			is = s[1:]
		case strings.HasPrefix(s, "@"):
			is = v.time().UTC().Format("2006-01-02T15:04:05.000000Z")
		}
		if is != nil {
			w[name] = is
		}
	}
	for name, v := range g {
		if v == nil {
			delete(g, name)
		}
	}
	if len(g)+len(w) > 0 && !reflect.DeepEqual(g, w) {
		return fmt.Sprintf("%v, want %v", g, w)
	}
	return ""
}

// again asks once more: under the same request, with others, and at a revision that is past.
func (x *played[R]) again(first fsm.Outcome[R]) string {
	row := x.p.Descriptor.Encode(&first.Record)
	if x.call.RequestID != "" && x.by() != driver.SystemActor {
		out, err := x.m.Do(x.ctx, x.c.Do, x.at, x.call)
		if err != nil {
			return fmt.Sprintf("the same request again: %v", err)
		}
		if d := x.p.differ(row, x.p.Descriptor.Encode(&out.Record)); d != "" || !out.Replayed || out.RecordOnly != first.RecordOnly {
			return fmt.Sprintf("the same request again: replayed %t, recorded only %t: %s", out.Replayed, out.RecordOnly, d)
		}
		other := x.call
		other.Reason += " again"
		if _, err := x.m.Do(x.ctx, x.c.Do, x.at, other); !errors.Is(err, fsm.ErrRequestReused) {
			return fmt.Sprintf("the request for another reason: %v, want %s", err, string(fsm.ErrRequestReused))
		}
		for _, text := range x.c.Again {
			want, with, _ := strings.Cut(text, " ")
			other := x.call
			other.Inputs = x.c.call(with).Inputs
			out, err := x.m.Do(x.ctx, x.c.Do, x.at, other)
			if replayed := err == nil && out.Replayed; replayed != (want == "replayed") || !replayed && !errors.Is(err, fsm.ErrRequestReused) {
				return fmt.Sprintf("the request with %s: replayed %t, %v; want %s", with, replayed, err, want)
			}
		}
	}
	if x.at == nil || x.c.steps()[0].recorded() || x.p.Descriptor.Schema.ExpectedRev == driver.Never {
		return ""
	}
	late := x.call
	if late.RequestID != "" {
		late.RequestID += "-late"
	}
	if now, err := x.m.Record(x.ctx, x.id); err == nil && x.p.onlyRecords(x.c.Do, x.p.name(x.p.Descriptor.Encode(&now).State)) {
		return "" // a call that is recorded only asks for no revision
	}
	if _, err := x.m.Do(x.ctx, x.c.Do, x.at, late); x.by() != driver.SystemActor && !errors.Is(err, fsm.ErrStale) {
		return fmt.Sprintf("another request at the revision before: %v, want %s", err, string(fsm.ErrStale))
	}
	return ""
}

// name returns the name of a state by its stored word.
func (p *Package[R]) name(stored string) string {
	for _, s := range p.Descriptor.Schema.States {
		if s.Stored == stored {
			return s.Name
		}
	}
	return ""
}

// triggered lets the machine itself make the call.
func (x *played[R]) triggered() string {
	x.fx.Sources[x.c.Do] = x.call
	run := x.m.Core.Sweep
	if x.c.By == ByStartup {
		run = x.m.Startup
	}
	n, err := run(x.ctx)
	if err != nil && x.c.Want != "" {
		return fmt.Sprint(err)
	}
	if x.c.Want == "" {
		if wrong := x.unchanged(); wrong != "" {
			return "nothing is to be done: " + wrong
		}
		return ""
	}
	if n == 0 {
		return "it found nothing to do"
	}
	steps := x.c.steps()
	if wrong := x.delivered(); wrong != "" {
		return wrong
	}
	return x.stored(steps, x.p.rows(x.before, x.call.At, steps), driver.SystemActor)
}
