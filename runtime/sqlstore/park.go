package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

var _ driver.ParkingTx = (*txn)(nil)

// stirred reports whether Wake has something to do: a time has come, or somebody has
// noted that there may be room.
func (r *reader) stirred(p *driver.Parking, now time.Time) (bool, error) {
	switch {
	case len(p.Due) > 0:
		return r.found(r.t.parked("stirred", p), now.UnixMicro())
	case len(p.Rules) > 0:
		return r.found(r.t.parked("stirred", p))
	}
	return false, nil
}

// note says that there may be room in a group: who moved, at which revision, and the
// group's values.
type note struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// Park parks records. Who stands in the way of a group is locked before, and stays
// there until the transaction ends: a record that moves on later sees what was parked.
func (x *txn) Park(p *driver.Parking, list []driver.Parked) (int, error) {
	var rows []parkedRow
	full := map[string]bool{}
	for _, b := range list {
		until := b.Until
		if b.Rule >= 0 {
			until = -int64(b.Rule) - 1
			if ok, err := x.blocked(&p.Rules[b.Rule], b.Groups[b.Rule], full); err != nil {
				return 0, err
			} else if !ok {
				continue
			}
		}
		rows = append(rows, parkedRow{b.ID, b.Rev, until})
	}
	parked, err := x.parkRows(p, rows)
	if err != nil {
		return 0, err
	}
	var notes []note // of those alone: another writer may be about to note that it moved the others
	for _, b := range list {
		if !parked[b.ID] {
			continue
		}
		for i, r := range p.Rules { // in other groups it is another one's turn
			if i == b.Rule || b.Groups[i] == nil {
				continue
			}
			key, err := json.Marshal(append([]any{b.ID, b.Rev}, noted(b.Groups[i])...))
			if err != nil {
				return 0, err
			}
			notes = append(notes, note{r.Note, string(key)})
		}
	}
	return len(parked), x.leaveNotes(notes)
}

// blocked locks those who leave no room in a group; false when another writer has one.
func (x *txn) blocked(r *driver.ParkRule, values []any, full map[string]bool) (bool, error) {
	key := fmt.Sprintf("%s %q", r.Note, values)
	if known, ok := full[key]; ok {
		return known, nil
	}
	b := &text{d: x.t.dialect}
	b.WriteString("SELECT " + x.t.says("full") + "1 FROM " + x.t.name)
	if err := x.t.where(b, &driver.Query{States: r.States, Where: equal(r.Columns, values)}); err != nil {
		return false, err
	}
	b.WriteString(x.t.dialect.limit(b.arg(r.Than)) + x.t.dialect.lock())
	n := int64(0)
	err := x.each(b.String(), b.args, func(Rows) error { n++; return nil })
	full[key] = n >= r.Than
	return full[key], err
}

func equal(columns []string, values []any) []driver.Cond {
	where := make([]driver.Cond, len(columns))
	for i, c := range columns {
		where[i] = driver.Cond{Column: c, Op: driver.OpEq, Value: values[i]}
	}
	return where
}

// noted returns values as the schema writes them into a note.
func noted(values []any) []any {
	list := make([]any, len(values))
	for i, v := range values {
		if at, ok := v.(time.Time); ok {
			v = at.UnixMicro()
		}
		list[i] = v
	}
	return list
}

type parkedRow struct {
	ID    string `json:"id"`
	Rev   int64  `json:"rev"`
	Until int64  `json:"until"`
}

// parkRows parks rows and returns the ids of those that nobody else has.
func (x *txn) parkRows(p *driver.Parking, rows []parkedRow) (map[string]bool, error) {
	parked, text := map[string]bool{}, x.t.parked("park", p)
	if !x.t.dialect.server() {
		for _, r := range rows {
			n, err := x.change(text, r.Until, r.ID, r.Rev)
			if err != nil {
				return nil, x.parkFault(err)
			}
			if n > 0 {
				parked[r.ID] = true
			}
		}
		return parked, nil
	}
	list, err := json.Marshal(rows)
	if err != nil || rows == nil {
		return nil, err
	}
	x.kept, x.changed = nil, true
	ids, err := x.ids(text, string(list))
	for _, id := range ids {
		parked[id] = true
	}
	return parked, err
}

func (x *txn) leaveNotes(notes []note) error {
	if !x.t.dialect.server() {
		for _, n := range notes {
			if _, err := x.change(x.t.text("leave_note"), n.Name, n.Key); err != nil {
				return x.parkFault(err)
			}
		}
		return nil
	}
	list, err := json.Marshal(notes)
	if err != nil || notes == nil {
		return err
	}
	_, err = x.change(x.t.text("leave_notes"), string(list))
	return x.parkFault(err)
}

func (x *txn) parkFault(err error) error {
	if err == nil || x.err != nil {
		return x.err
	}
	return x.t.fault("park", err)
}

// Wake shows parked records again.
func (x *txn) Wake(q driver.Query) (n int, held string, err error) {
	p, due := q.Park, len(q.Park.Due) > 0
	var notes, done []note
	if len(p.Rules) > 0 {
		var come bool
		if notes, come, err = x.notes(p, q.Stir, q.Lock); err != nil {
			return 0, "", err
		}
		due = due && (come || len(notes) == 0)
	}
	if due {
		woken, other, err := x.wakeDue(p, q.Stir, q.Lock)
		if n, held = int(woken), other; err != nil {
			return 0, "", err
		}
	}
	for _, same := range byGroup(notes) {
		over, other, err := x.wakeGroup(&q, same)
		if err != nil {
			return 0, "", err
		}
		if done = append(done, over...); other != "" {
			held = other
		}
	}
	if len(done) == 0 {
		return n, held, nil
	}
	list, err := json.Marshal(done)
	if err == nil {
		_, err = x.change(x.t.text("remove_notes"), string(list))
	}
	return n + len(done), held, x.parkFault(err)
}

// notes reads and locks what may have made room, and says whether a time has come as well. Nothing is held yet, so
// that who has a note waits for nothing; with free it is passed over all the same.
func (x *txn) notes(p *driver.Parking, now time.Time, free bool) (list []note, come bool, err error) {
	text := x.t.parked("notes", p)
	if free {
		text = x.t.parked("free_notes", p)
	}
	err = x.each(text, []any{now.UnixMicro(), maxMany}, func(rows Rows) error {
		var n note
		err := rows.Scan(&n.Name, &n.Key, &come)
		list = append(list, n)
		return err
	})
	return list, come, err
}

// maxWoken bounds how many records whose time has come one statement shows again.
const maxWoken = 4096

// wakeDue shows records again whose time has come. Where it may have left some, it says of none that another writer
// has it: a pick comes again until none is woken. With all, in the middle of a transaction, it leaves none.
func (x *txn) wakeDue(p *driver.Parking, now time.Time, all bool) (n int64, held string, err error) {
	for more := int64(maxWoken); more == maxWoken; n += more {
		if more, err = x.change(x.t.parked("wake_due", p), now.UnixMicro(), int64(maxWoken)); err != nil {
			return 0, "", x.parkFault(err)
		}
		if more == maxWoken && !all {
			return n + more, "", nil
		}
	}
	err = x.each(x.t.parked("still_parked", p), []any{now.UnixMicro()}, func(rows Rows) error { return rows.Scan(&held) })
	return n, held, err
}

// byGroup puts the notes of one group together.
func byGroup(notes []note) [][]note {
	at := map[string]int{}
	var groups [][]note
	for _, n := range notes {
		var parts []json.RawMessage
		key := n.Key
		if json.Unmarshal([]byte(n.Key), &parts) == nil && len(parts) >= 2 {
			values, _ := json.Marshal(parts[2:])
			key = string(values)
		}
		i, ok := at[n.Name+key]
		if !ok {
			i = len(groups)
			at[n.Name+key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	return groups
}

// wakeGroup shows as many of a group's records again as there are notes, and returns
// the notes that nobody waits for any more.
func (x *txn) wakeGroup(of *driver.Query, notes []note) (done []note, held string, err error) {
	p, i := of.Park, 0
	for p.Rules[i].Note != notes[0].Name {
		i++
	}
	values, err := x.t.valuesOf(&p.Rules[i], notes[0].Key)
	if err != nil {
		return nil, "", err
	}
	waiting := func(limit int) (*text, error) {
		q := driver.Query{States: of.States, Where: equal(p.Rules[i].Columns, values), Order: of.Order, Limit: limit}
		return x.t.selectWhere(`"id"`, &q, fmt.Sprintf("%s = -%d", quote(p.Column), i+1))
	}
	first, err := waiting(len(notes))
	if err != nil {
		return nil, "", err
	}
	x.kept, x.changed = nil, true
	shown, err := x.ids("WITH v AS MATERIALIZED ("+first.String()+x.t.dialect.lock()+")\n"+x.t.parked("wake", p), first.args...)
	if err != nil {
		return nil, "", x.parkFault(err)
	}
	if len(shown) < len(notes) { // nobody waits, or another writer has who does
		next, err := waiting(1)
		if err != nil {
			return nil, "", err
		}
		left, err := x.ids(next.String(), next.args...)
		if err != nil {
			return nil, "", x.parkFault(err)
		}
		if len(left) > 0 {
			return notes[:len(shown)], left[0], nil
		}
	}
	return notes, "", nil
}

// valuesOf reads the values of the group of a note.
func (t *table) valuesOf(r *driver.ParkRule, key string) ([]any, error) {
	wrong := fmt.Errorf("sqlstore: the note %q of %s is none", key, r.Note)
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(key), &parts); err != nil || len(parts) != 2+len(r.Columns) {
		return nil, wrong
	}
	values := make([]any, len(r.Columns))
	for i, name := range r.Columns {
		kind, err := t.kind(name)
		if err != nil {
			return nil, err
		}
		raw, word, n := parts[2+i], "", int64(0)
		switch kind {
		case driver.KindString, driver.KindEnum:
			err = json.Unmarshal(raw, &word)
			values[i] = word
		case driver.KindBool:
			values[i] = string(raw) == "1" || string(raw) == "true"
		default:
			err = json.Unmarshal(raw, &n)
			if values[i] = n; kind == driver.KindTime {
				values[i] = time.UnixMicro(n).UTC()
			}
		}
		if err != nil {
			return nil, wrong
		}
	}
	return values, nil
}

// showAll shows all parked rows again, after SQLite's triggers stood aside. Those of
// PostgreSQL that park do not: they have shown what the write may have freed.
func (x *txn) showAll() error {
	if x.t.dialect.server() {
		return nil
	}
	names, err := column(x.ctx, x.q, x.t.dialect.columns(x.t.schema.Table))
	for _, name := range names {
		if err == nil && strings.HasPrefix(name, "_parked_") {
			_, err = x.change(x.t.parked("wake_all", &driver.Parking{Column: name}))
		}
	}
	return err
}
