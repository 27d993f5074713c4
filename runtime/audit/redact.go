package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// RedactOptions say what Redact erases, who asks for it and why.
type RedactOptions struct {
	Fields  []string `json:"fields,omitempty"`  // by their names in the specification
	Inputs  []string `json:"inputs,omitempty"`  // by name; those that feed a field are erased with it
	Reasons bool     `json:"reasons,omitempty"` // of all events
	Labels  bool     `json:"labels,omitempty"`  // of all events
	Actors  bool     `json:"actors,omitempty"`  // of all events, but for the engine's own and those who redacted
	Actor   string   `json:"-"`                 // who asks for it; required, and logged
	Reason  string   `json:"-"`                 // why; required, and logged; it is not erased itself
}

const (
	redactedText = "[redacted]" // in the place of a text that cannot be absent
)

// Redact erases fields of one record from its row and from all events of its log,
// and what else the options name. An optional field becomes absent; a text that
// cannot be absent, in the present state either, becomes "[redacted]", cut or filled up to a
// length that it may have, and a set empty. An input goes where its operation feeds an erased field with it (Operation.Feeds).
// Where nothing tells that, in events that another version of the specification wrote or
// that only recorded a call, it also goes by the field's name, or by a value that the field
// had. Where an event gave the field a value that none of these inputs brought, the
// specification was edited without a new version, and an input of that value goes, too.
// What an edited guard compared with the field is not told so: name it in Inputs. The log gets a transition "__redact" that says who did it, when and why,
// and in its inputs what was erased. It returns the record and whether there was
// anything to erase.
//
// Checksums and chain of the log are made anew, so an audit finds it whole, and
// the fold of the log is the row. An event of which something was erased has
// "redacted" for its fingerprint, since a digest would still confirm a guess; the
// audit demands that a redaction follows it. A retry of its request is still a
// replay, but no longer compared with what it brought.
//
// Redact refuses what others depend on: a field of a unique rule, of a group, of a
// projection's key or of a trigger, a counter, a sequence; a value that the rules of the
// record's state need (ErrInvariant); a record with an effect that is still to be
// delivered (ErrWrongState). A record that is not equal to the fold of its log is
// ErrQuarantined: repair it first. On SQL stores it needs the rights of the tables'
// owner, since the triggers, which let nobody edit a log, let it pass. Triggers of
// users run, and see what it writes.
// Request ids and the record's id stay; keep personal data out of them.
func Redact[R any](ctx context.Context, on Machine[R], id string, o RedactOptions) (rec R, redacted bool, err error) {
	m := of(on)
	if err := m.operator(o.Actor, o.Reason, id); err != nil {
		return rec, false, err
	}
	columns, err := m.redactable(id, o.Fields)
	if err != nil {
		return rec, false, err
	}
	var row driver.Row
	var e driver.Event
	u := inspect.Work{Name: "redact", ID: id, RequestID: ""}
	u.Try = func(tx driver.Tx) error {
		old, err := m.wholeRow(tx, id)
		if err != nil {
			return err
		}
		r, err := m.redaction(&old, columns, &o)
		if err != nil {
			return err
		}
		edited, err := r.log(tx)
		row, redacted = r.row, len(edited) > 0
		if err != nil || !redacted {
			return err
		}
		if e, err = m.redacted(r, &old); err != nil {
			return err
		}
		w := &driver.Write{Prev: old.Ref(), PrevState: old.State, Row: &row, Changed: r.changed(&old), Event: e}
		waiting, err := tx.Redact(w, edited)
		if waiting && err == nil {
			refused := refusal(m.Engine, fsm.ErrWrongState, id, old.State)
			refused.Message = "an effect of it is still to be delivered, which needs what would be erased; deliver it first"
			err = refused
		}
		return err
	}
	u.Find = func(r driver.Reader) (bool, error) {
		events, err := r.Request(id, e.RequestID)
		return len(events) > 0, err
	}
	if err := m.Run(ctx, u); err != nil {
		return rec, false, err
	}
	rec, err = m.Load(&row)
	return rec, redacted, err
}

// redactable returns the columns of fields that nothing between records depends on.
func (m *machine[R]) redactable(id string, fields []string) (columns []int, err error) {
	s := m.Schema
	for _, name := range fields {
		i := slices.IndexFunc(s.Columns, func(c driver.Column) bool { return c.Name == name })
		why := "there is no such field"
		if i >= 0 {
			why = m.needed(&s.Columns[i])
		}
		if why != "" {
			r := refusal(m.Engine, fsm.ErrInvalidInput, id, "")
			r.Name, r.Message = "fields", fmt.Sprintf("%s cannot be erased: %s", name, why)
			return nil, r
		}
		columns = append(columns, i)
	}
	return columns, nil
}

// needed says why a field cannot be erased from any record; empty: it can.
func (m *machine[R]) needed(c *driver.Column) string {
	has := func(names []string) bool { return slices.Contains(names, c.Stored) }
	for i := range m.Schema.Uniques {
		if u := &m.Schema.Uniques[i]; has(u.Columns) {
			return "the rule " + u.Name + " finds records by it"
		}
	}
	for i := range m.Schema.Indexes {
		if x := &m.Schema.Indexes[i]; strings.HasPrefix(x.Name, "peers.") && has(x.Columns) {
			return "records are counted together by it (" + x.Name + ")"
		}
	}
	if m.Descriptor.Projection != nil && has(m.Descriptor.Projection.Key) {
		return "the projection groups records by it"
	}
	for _, op := range m.Descriptor.Operations {
		if slices.ContainsFunc(op.Triggers, func(t fsmimpl.Trigger) bool { return t.After == c.Stored || t.By == c.Stored }) {
			return op.Name + " becomes due by it"
		}
	}
	switch {
	case c.Kind == driver.KindCounter || c.Kind == driver.KindSequence:
		return "it is a count"
	case c.Optional, c.Kind == driver.KindString, c.Kind == driver.KindJSON, c.Kind == driver.KindSet:
		return ""
	}
	return "it cannot be absent, and is neither a text nor a set"
}

// wholeRow returns a row that is the fold of a log in which nothing is wrong.
func (m *machine[R]) wholeRow(tx driver.Tx, id string) (driver.Row, error) {
	old, err := tx.Row(id)         // first: it may be what locks the record
	if err == driver.ErrNotFound { //nolint:errorlint // as stores return it
		return old, m.missing(tx, id)
	}
	if err != nil {
		return old, err
	}
	folded, err := m.foldWhole(tx, id)
	if err != nil {
		return old, err
	}
	if diff := differs(m.Schema, &old, &folded); diff != "" {
		r := refusal(m.Engine, fsm.ErrQuarantined, id, old.State)
		r.Message = "it differs from the fold of its log, so nothing can be erased from it; repair it first: " + diff
		return old, r
	}
	return old, nil
}

// redaction is what is erased of one record.
type redaction struct {
	s       *driver.Schema
	o       *RedactOptions
	row     driver.Row     // as it is afterwards
	columns map[string]int // by stored name
	blank   []driver.JSON  // what stands for an erased value in the log, by column
	values  map[string]bool
	fed     map[string]map[string]bool // by stored operation, the inputs that feed an erased field
}

// redaction decides what stands in the place of each value, so that the record
// keeps the rules of its state.
func (m *machine[R]) redaction(old *driver.Row, columns []int, o *RedactOptions) (*redaction, error) {
	r := &redaction{s: m.Schema, o: o, columns: map[string]int{}, values: map[string]bool{}, fed: map[string]map[string]bool{}}
	r.blank = make([]driver.JSON, len(r.s.Columns))
	for _, i := range columns {
		r.columns[m.Schema.Columns[i].Stored] = i
	}
	for _, op := range m.Descriptor.Operations {
		fed := map[string]bool{}
		for _, f := range op.Feeds {
			if _, erased := r.columns[f.Column]; erased {
				fed[f.Input] = true
			}
		}
		r.fed[op.Stored] = fed
	}
	var broken []string
	for _, absent := range []bool{true, false} {
		r.row = *old
		r.row.Values = slices.Clone(old.Values)
		r.row.Rev++
		for _, i := range columns {
			if err := r.choose(i, absent); err != nil {
				return nil, err
			}
		}
		rec, err := m.Descriptor.Decode(r.row)
		if err != nil {
			return nil, err
		}
		broken = nil
		for _, v := range m.Descriptor.Check(&rec) {
			if v.Must {
				broken = append(broken, v.String())
			}
		}
		if len(broken) == 0 {
			return r, nil
		}
	}
	refused := refusal(m.Engine, fsm.ErrInvariant, old.ID, old.State)
	refused.Message = "without what would be erased it breaks a rule of its state: " + strings.Join(broken, "; ")
	return nil, refused
}

// choose sets what stands in the place of a column's values.
func (r *redaction) choose(i int, absent bool) error {
	c := &r.s.Columns[i]
	var v any
	switch {
	case c.Kind == driver.KindSet:
		v = "[]"
	case c.Kind == driver.KindString && !(c.Optional && absent):
		v = c.Fit(redactedText)
	case c.Kind == driver.KindJSON && !(c.Optional && absent):
		v = `"` + redactedText + `"`
	}
	blank, err := driver.AppendValue(nil, c.Kind, v)
	r.blank[i] = driver.RawJSON(string(blank))
	if r.row.Values[i] != nil {
		r.row.Values[i] = v
	}
	return err
}

// changed returns the columns in which the row differs.
func (r *redaction) changed(old *driver.Row) (list []int) {
	for i := range old.Values {
		if !driver.Same(old.Values[i], r.row.Values[i]) {
			list = append(list, i)
		}
	}
	return list
}

// redacted makes the event of a redaction.
func (m *machine[R]) redacted(r *redaction, old *driver.Row) (driver.Event, error) {
	e := m.record(driver.OpRedact, &r.row, r.o.Actor, r.o.Reason)
	e.RequestID = driver.Reserved + driver.OpRedact + ":" + driver.NewID()
	inputs, err := json.Marshal(r.o)
	if err != nil {
		return e, err
	}
	e.Inputs = driver.RawJSON(string(inputs))
	changes := map[string]json.RawMessage{}
	for _, i := range r.changed(old) {
		changes[r.s.Columns[i].Stored] = json.RawMessage(r.blank[i].String())
	}
	e.Changes = joinMembers(changes)
	if r.row.Rev%driver.ImageEvery == 0 {
		if e.Image, err = r.s.Image(&r.row); err != nil {
			return e, err
		}
	}
	e.Sum = driver.Checksum(&e)
	return e, nil
}

// log returns the events of the log that differ afterwards: those of which
// something is erased, and those whose chain is another one then.
func (r *redaction) log(reader driver.Reader) ([]driver.Event, error) {
	var events []driver.Event
	for e, err := range reader.Events(r.row.ID, 0) {
		if err != nil {
			return nil, err
		}
		if err := r.collect(&e); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	var edited []driver.Event
	var stepped, last uint32
	erased := false
	for i := range events {
		e, was := &events[i], events[i].Chain
		some, err := r.erase(e)
		if err != nil {
			return nil, err
		}
		if some {
			e.Fingerprint, erased = driver.RedactedMark, true
			e.Sum = driver.Checksum(e)
		}
		before := stepped
		if e.RecordOnly() {
			before = last
		}
		if was != 0 {
			e.Chain = driver.Chained(before, e)
		}
		if last = e.Chain; !e.RecordOnly() {
			stepped = e.Chain
		}
		if some || e.Chain != was {
			edited = append(edited, *e)
		}
	}
	if !erased {
		return nil, nil
	}
	return edited, nil
}

// collect notes the values that the fields had, as they stand in inputs.
func (r *redaction) collect(e *driver.Event) error {
	return errors.Join(r.gather(e, e.Changes, r.values), r.gather(e, e.Image, r.values))
}

// gather notes the values of the fields in a part of an event: whole, and those of sets one by one.
func (r *redaction) gather(e *driver.Event, doc driver.JSON, values map[string]bool) error {
	members, err := doc.Members()
	if err != nil {
		return fmt.Errorf("event %d.%d of %q: %w", e.Rev, e.N, e.ID, err)
	}
	for name, raw := range members {
		i, ours := r.columns[name]
		if !ours || dull(raw) || string(raw) == r.blank[i].String() {
			continue
		}
		for _, part := range partsOf(raw, r.s.Columns[i].Kind == driver.KindSet) {
			values[part] = true
		}
	}
	return nil
}

// partsOf returns a value and, of a set, its members.
func partsOf(raw json.RawMessage, set bool) []string {
	parts := []string{string(raw)}
	var items []json.RawMessage
	if set && json.Unmarshal(raw, &items) == nil {
		for _, item := range items {
			parts = append(parts, string(item))
		}
	}
	var said struct{ Came, Gone []json.RawMessage }
	if set && len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &said) == nil { // some members went
		for _, item := range slices.Concat(said.Came, said.Gone) {
			parts = append(parts, string(item))
		}
	}
	return parts
}

// unexplained returns the values that an event gave to the fields and that no input brought of
// those that feed them. Another input that brought one fed its field: the specification was
// another one then, though its version is the same.
func (r *redaction) unexplained(e *driver.Event, fed map[string]bool) (map[string]bool, error) {
	values := map[string]bool{}
	if err := r.gather(e, e.Changes, values); err != nil || len(values) == 0 {
		return nil, err
	}
	_, err := eachMember(e.Inputs, func(name string, raw json.RawMessage) (json.RawMessage, error) {
		if fed[name] {
			for _, part := range partsOf(raw, true) {
				delete(values, part)
			}
		}
		return raw, nil
	})
	return values, err
}

// dull reports whether a value tells nothing of anybody.
func dull(raw json.RawMessage) bool {
	return slices.Contains([]string{"null", "true", "false", `""`, "[]", "{}"}, string(raw))
}

// erase takes out of an event what is to be erased, and reports whether there was
// anything.
func (r *redaction) erase(e *driver.Event) (bool, error) {
	before := driver.Checksum(e)
	fields := func(name string, raw json.RawMessage) (json.RawMessage, error) {
		if i, ours := r.columns[name]; ours && string(raw) != "null" {
			return json.RawMessage(r.blank[i].String()), nil
		}
		return raw, nil
	}
	fed, known := r.fed[e.Operation]
	untold := !known || e.Version != r.s.Version || e.RecordOnly()
	other, err := r.unexplained(e, fed)
	if err != nil {
		return false, err
	}
	inputs := func(name string, raw json.RawMessage) (json.RawMessage, error) {
		switch {
		case e.Operation == driver.OpRepair && name == "row":
			row, err := eachMember(driver.RawJSON(string(raw)), fields)
			return json.RawMessage(row.String()), err
		case slices.Contains(r.o.Inputs, name), fed[name], other[string(raw)],
			untold && (r.values[string(raw)] || slices.Contains(r.o.Fields, name)):
			return json.RawMessage("null"), nil
		}
		return raw, nil
	}
	for _, part := range []struct {
		doc  *driver.JSON
		each func(string, json.RawMessage) (json.RawMessage, error)
	}{{&e.Changes, fields}, {&e.Image, fields}, {&e.Inputs, inputs}} {
		if part.doc == &e.Inputs && e.Operation == driver.OpRedact {
			continue
		}
		if *part.doc, err = eachMember(*part.doc, part.each); err != nil {
			return false, fmt.Errorf("event %d.%d of %q: %w", e.Rev, e.N, e.ID, err)
		}
	}
	if r.o.Labels {
		e.Labels = nil
	}
	if r.o.Reasons && e.Reason != "" && e.Operation != driver.OpRedact {
		e.Reason = redactedText
	}
	if r.o.Actors && e.Actor != "" && e.Actor != driver.SystemActor && e.Operation != driver.OpRedact {
		e.Actor = redactedText
	}
	return driver.Checksum(e) != before, nil
}

// eachMember gives the members of an object other values. One in which nothing
// changes stays as it is written; so does what is no object.
func eachMember(doc driver.JSON, value func(name string, raw json.RawMessage) (json.RawMessage, error)) (driver.JSON, error) {
	members, err := doc.Members()
	if err != nil || members == nil {
		return doc, nil // the text of a repair, of a row that no event could hold
	}
	changed := false
	for name, raw := range members {
		next, err := value(name, raw)
		if err != nil {
			return doc, err
		}
		changed = changed || !bytes.Equal(next, raw)
		members[name] = next
	}
	if !changed {
		return doc, nil
	}
	return joinMembers(members), nil
}

// joinMembers writes an object, its members by name.
func joinMembers(members map[string]json.RawMessage) driver.JSON {
	b := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(driver.AppendText(b, name), ':'), members[name]...)
	}
	return driver.RawJSON(string(append(b, '}')))
}
