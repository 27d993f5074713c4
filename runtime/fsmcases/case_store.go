package fsmcases

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
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
)

// stage is an opened machine on a store, where cases are played.
type stage[R any] struct {
	p     *Package[R]
	t     *testing.T
	ctx   context.Context
	store fsm.Store
	m     *Durable[R]
	fx    *Effects
	clock *fsmtest.Clock
	n     int // cases that were played
}

// over makes the calls of the cases over a store, which is emptied behind each.
func (p *Package[R]) over(test *testing.T, st Store) {
	t := &report{T: test}
	defer t.done()
	var s *stage[R]
	cases := p.Cases
	if p.Descriptor.Schema.SQL[st.Name] == "" { // what they are about is no matter of the store
		cases = slices.Concat(cases, p.misplaced())
	}
	for i := range cases {
		c := &cases[i]
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
		if c.By == ByStartup {
			s = nil // a recovery that was refused is not over
		}
	}
}

// misplaced are calls of the operations, each in a state that it does not start in.
func (p *Package[R]) misplaced() (list []Case) {
	for _, o := range sortedKeys(p.Moves) {
		taken := slices.IndexFunc(p.Cases, func(c Case) bool {
			return c.Do == o && !c.NoStore && c.By == "" && c.Why == "" && strings.HasPrefix(c.Want, o+": ")
		})
		if p.creates(o) || taken < 0 {
			continue
		}
		leads := p.table(o)
		for _, e := range p.Ends {
			in := slices.IndexFunc(p.Cases, func(c Case) bool { return c.In == e.State && !c.NoStore && len(c.Beside) == 0 })
			if leads[e.State] == nil && in >= 0 {
				list = append(list, Case{In: e.State, Given: p.Cases[in].Given, Do: o, With: p.Cases[taken].With, Want: p.turnedAway(o, e)})
				break
			}
		}
	}
	return list
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
				Actor: driver.SystemActor, RequestID: fmt.Sprintf("%s%s:%d", driver.Reserved, driver.OpPurge, row.Rev), RequestN: -1,
				Inputs: fsm.MustJSON("{}"),
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
	s := &stage[R]{p: p, t: t, ctx: t.Context(), store: st.Open(t), clock: fsmtest.NewClock(), fx: &Effects{Sources: map[string]Call{}}}
	s.clock.Set(casesNow)
	if err := p.Migrate(s.ctx, s.store); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	var err error
	now := func() time.Time { return AsSent(s.clock.Now()) }
	s.m, err = p.Open(s.ctx, s.store, s.fx, fsm.WithClock(now), fsm.WithCallerTime(), fsm.WithDelivery(time.Minute, 0))
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
	if err := fsmtest.Seed(s.ctx, s.store, s.p.Descriptor.Schema, rows...); err != nil {
		return err.Error()
	}
	s.clock.Set(x.call.At)
	if c.Tries > 0 { // the last of them is at the time of the call
		s.clock.Set(x.call.At.Add(-time.Duration(c.Tries-1) * betweenTries))
	}
	if x.triggered() {
		return x.issued()
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
	if got := refused(err); got != x.c.Want {
		return fmt.Sprintf("%s, want %s", got, x.c.Want)
	}
	operation, in := x.c.Do, x.c.In
	if x.c.Picks != "" { // one of those that the machine chose refuses
		in = x.p.Descriptor.Schema.StateName(x.before.State)
	}
	for _, step := range x.c.Then { // the one that was refused, and the state that the call led to
		operation, in, _ = strings.Cut(step, " in ")
	}
	if d := x.p.aside(err, operation, in, x.id); d != "" {
		return fmt.Sprintf("%v: %s", err, d)
	}
	return x.unchanged()
}

// unchanged looks whether all is as it was: every record, its log, and no effect.
func (x *played[R]) unchanged() string {
	rows := slices.Clone(x.beside)
	if x.c.In != "" {
		rows = append(rows, x.before)
	}
	known := slices.ContainsFunc(rows, func(row driver.Row) bool { return row.ID == caseID })
	if _, err := x.m.Record(x.ctx, caseID); !known && !errors.Is(err, fsm.ErrNotFound) {
		return fmt.Sprintf("it was refused, and there is a record (%v)", err)
	}
	return cmp.Or(x.performed(nil), x.kept(rows))
}

// kept looks whether records are as they were, and their logs with them.
func (x *played[R]) kept(rows []driver.Row) string {
	for _, row := range rows {
		is, log, err := x.read(row.ID)
		if err != nil {
			return fmt.Sprintf("read %q: %v", row.ID, err)
		}
		if d := x.p.differ(row, is); d != "" {
			return fmt.Sprintf("it changed %q: %s", row.ID, d)
		}
		if len(log) != 1 { // how it came about
			return fmt.Sprintf("the log of %q has %d new events", row.ID, len(log)-1)
		}
	}
	return ""
}

// read returns a record and its log.
func (x *played[R]) read(id string) (row driver.Row, log []fsm.Event, err error) {
	r, err := x.m.Record(x.ctx, id)
	if err != nil {
		return row, nil, err
	}
	for e, err := range x.m.Core.History(x.ctx, id) {
		if err != nil {
			return row, nil, fmt.Errorf("its log: %w", err)
		}
		log = append(log, e)
	}
	return x.p.Descriptor.Encode(&r), log, nil
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
	others := slices.DeleteFunc(slices.Clone(x.beside), func(row driver.Row) bool { return row.ID == x.id })
	return cmp.Or(x.kept(others), x.stored(steps, rows))
}

// stored compares the record and its log in the store.
func (x *played[R]) stored(steps []step, rows []driver.Row) string {
	row, log, err := x.read(x.id)
	if err != nil {
		return fmt.Sprintf("read %q: %v", x.id, err)
	}
	folded, err := x.p.Fold(log)
	if err != nil {
		return fmt.Sprintf("fold the log: %v", err)
	}
	last := rows[len(rows)-1]
	if d := x.p.differ(last, row); d != "" {
		return "the stored record: " + d
	}
	if d := x.p.differ(last, x.p.Descriptor.Encode(&folded)); d != "" {
		return "the log folds to another record: " + d
	}
	from := x.before.State
	if from != "" {
		log = log[1:] // how it came about
	}
	if len(log) != len(steps) {
		return fmt.Sprintf("the log has %d events, want %d", len(log), len(steps))
	}
	for i, e := range log {
		with := ""
		switch {
		case i == 0:
			with = x.c.With
		case x.c.GivesUp != "" && i == 1+len(x.c.Then): // the step that follows
			with = x.problem(e.Operation)
		}
		if wrong := x.logged(e, steps[i], from, rows[i], i == 0, with); wrong != "" {
			return fmt.Sprintf("event %d: %s", i+1, wrong)
		}
		from = rows[i].State
	}
	return ""
}

// entry is what one event says of its step.
type entry struct {
	operation, name, from, to, actor, reason, request, guard string
	rev                                                      int64
	recorded                                                 bool
	version                                                  int
	at                                                       time.Time
}

// problem is what an operation is told of an effect that gave up, as an event has it.
func (x *played[R]) problem(stored string) string {
	_, problem, _ := strings.Cut(x.c.GivesUp, ": ")
	for _, op := range x.p.Descriptor.Operations {
		if op.Stored == stored && op.GaveUp != nil {
			return fmt.Sprintf(`{"error":%s}`, driver.AppendText(nil, problem))
		}
	}
	return ""
}

// logged compares one event of the log, with its inputs; first is that of the call itself.
func (x *played[R]) logged(e fsm.Event, s step, from string, row driver.Row, first bool, with string) string {
	got := entry{
		e.Operation, e.Name, e.From, e.To, e.Actor, e.Reason, e.RequestID, e.Guard,
		e.Rev, e.RecordOnly(), e.Version, driver.Time(e.At),
	}
	want := entry{
		cmp.Or(x.p.Stored[x.c.Do], x.c.Do), s.event, from, row.State, x.call.Actor, x.call.Reason, x.call.RequestID, "",
		row.Rev, s.recorded(), x.p.Descriptor.Schema.Version, driver.Time(x.call.At),
	}
	if s.recorded() {
		want.guard = strings.TrimPrefix(strings.TrimPrefix(s.to, "(recorded)"), " for ")
	}
	system := x.bySystem()
	if system {
		want.request = fmt.Sprintf("sys:%s:%d", e.Operation, x.before.Rev)
	}
	if system || !first {
		want.actor = driver.SystemActor
	}
	if !first { // an operation that only the specification names
		want.operation = got.operation
	}
	if !first || x.triggered() {
		want.reason = got.reason
	}
	if !first || x.triggered() || system && x.c.In == "" || want.request == "" {
		want.request = got.request
	}
	if got != want {
		return fmt.Sprintf("%+v, want %+v", got, want)
	}
	if wrong := jsonDiffers(e.Inputs.String(), with); wrong != "" {
		return "the inputs are " + wrong
	}
	var changed []string
	for name := range object(s.changes) {
		changed = append(changed, x.p.Descriptor.Schema.Columns[x.p.column(name)].Stored)
	}
	slices.Sort(changed)
	if names := sortedKeys(object(e.Changes.String())); !slices.Equal(names, changed) && !s.recorded() {
		return fmt.Sprintf("it changes %q, want %q", names, changed)
	}
	return ""
}

// triggered reports whether the machine itself makes the call.
func (x *played[R]) triggered() bool { return x.c.By == BySweep || x.c.By == ByStartup }

// bySystem reports whether the actor is the system.
func (x *played[R]) bySystem() bool {
	return x.triggered() || slices.Contains(list(x.p.System), x.c.Do)
}

// jsonDiffers compares what an event holds with what a case says, or "".
func jsonDiffers(got, want string) string {
	decode := func(text string) (v any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber() // each digit counts
		if err := d.Decode(&v); err != nil {
			panic(fmt.Sprintf("fsmcases: %s: %v", text, err))
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
	if x.bySystem() {
		return ""
	}
	if x.call.RequestID != "" {
		out, err := x.m.Do(x.ctx, x.c.Do, x.at, x.call)
		if err != nil {
			return fmt.Sprintf("the same request again: %v", err)
		}
		d := x.p.differ(x.p.Descriptor.Encode(&first.Record), x.p.Descriptor.Encode(&out.Record))
		if d != "" || !out.Replayed || out.RecordOnly != first.RecordOnly {
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
	now, err := x.m.Record(x.ctx, x.id)
	switch {
	case err != nil:
		return fmt.Sprintf("read %q: %v", x.id, err)
	case x.at == nil || x.c.steps()[0].recorded() || x.p.Descriptor.Schema.ExpectedRev == driver.Never:
		return ""
	case x.p.onlyRecords(x.c.Do, x.p.name(x.p.Descriptor.Encode(&now).State)):
		return "" // a call that is recorded only asks for no revision
	}
	late := x.call
	if late.RequestID != "" {
		late.RequestID += "-late"
	}
	if _, err := x.m.Do(x.ctx, x.c.Do, x.at, late); !errors.Is(err, fsm.ErrStale) {
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

// issued lets the machine itself make the call.
func (x *played[R]) issued() string {
	x.fx.Sources[x.c.Do] = x.call
	run := x.m.Core.Sweep
	if x.c.By == ByStartup {
		run = x.m.Startup
	}
	n, err := run(x.ctx)
	switch {
	case x.c.Want == "":
		if wrong := x.unchanged(); wrong != "" {
			return "nothing is to be done: " + wrong
		}
		return ""
	case err != nil:
		return fmt.Sprint(err)
	case n == 0:
		return "it found nothing to do"
	}
	steps := x.c.steps()
	return cmp.Or(x.delivered(), x.stored(steps, x.p.rows(x.before, x.call.At, steps)))
}
