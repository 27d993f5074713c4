package fsmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// witnessCases are the cases of the table for an operation in a state; nil is the
// state of a creation.
func (m *model) witnessCases(o *operation, s *state) []theCase {
	var list []theCase
	for _, w := range o.Witnesses {
		if w.Never+w.Unknown == "" && (s == nil && w.In == "" || s != nil && w.In == s.Name) {
			list = append(list, m.witnessed(o, s, w))
		}
	}
	return list
}

// witnessed makes the case that a line of the table stands for. How it is written
// was looked at when the table was compiled.
func (m *model) witnessed(o *operation, s *state, w Witness) theCase {
	c := theCase{call: m.baseCall(o)}
	if s != nil {
		c.row, _ = m.witnessRow(s, w)
	}
	if o.By != "system" && w.Actor != "" {
		c.call.Actor = w.Actor
	}
	c.call.Inputs, _ = readData(w.Inputs, o.inputType)
	for _, g := range o.require {
		if g.Fewer > 0 {
			c.call.Peers[g.Name] = 0
			if w.Way == "guard "+g.Name {
				c.call.Peers[g.Name] = g.Fewer
			}
		}
	}
	for _, name := range m.order {
		if o.creates && m.fields[name].kind == driver.KindSequence {
			c.call.Peers[name] = int64(1)
		}
	}
	return c
}

// witnessRow is the record of a line of the table.
func (m *model) witnessRow(s *state, w Witness) (driver.Row, error) {
	r := m.baseRow(s)
	data, err := readData(w.Record, func(name string) *typ {
		switch f := m.fields[name]; {
		case f != nil:
			return &f.typ
		case m.isField(name):
			return &typ{kind: driver.KindTime}
		}
		return nil
	})
	for _, name := range sortedKeys(data) {
		switch f := m.fields[name]; {
		case f != nil:
			r.Values[f.index] = data[name]
		case name == "created_at":
			r.CreatedAt = data[name].(time.Time)
		default:
			r.UpdatedAt = data[name].(time.Time)
		}
	}
	return r, err
}

// readData reads the values of a line of the table.
func readData(text string, typeOf func(name string) *typ) (map[string]any, error) {
	data := map[string]any{}
	if text == "" {
		return data, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return data, fmt.Errorf("%s: %w", text, err)
	}
	for _, name := range sortedKeys(raw) {
		y := typeOf(name)
		if y == nil {
			return data, fmt.Errorf("%s: there is no %q", text, name)
		}
		v, err := readDatum(y, raw[name])
		if err != nil {
			return data, fmt.Errorf("%s: %s: %w", text, name, err)
		}
		data[name] = v
	}
	return data, nil
}

func readDatum(y *typ, raw json.RawMessage) (any, error) {
	switch y.kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		return strconv.ParseInt(string(raw), 10, 64)
	case driver.KindBool:
		return strconv.ParseBool(string(raw))
	case driver.KindJSON:
		return string(raw), nil
	case driver.KindSet:
		var items []string
		err := json.Unmarshal(raw, &items)
		return setOf(items...), err
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	switch y.kind {
	case driver.KindEnum:
		return y.storedWord(s), nil
	case driver.KindTime:
		return readTime(s)
	}
	return s, nil
}

func readTime(s string) (time.Time, error) {
	apart, ok := strings.CutPrefix(s, "now")
	if !ok {
		return time.Time{}, fmt.Errorf("%q is no time: expected now, now+1h or now-1h", s)
	}
	if apart == "" {
		return theNow, nil
	}
	d, err := time.ParseDuration(apart)
	return theNow.Add(d), err
}

func (o *operation) inputType(name string) *typ {
	if in := o.input(name); in != nil {
		return &in.typ
	}
	return nil
}

// checkWitnesses reads every line of the table once.
func (m *model) checkWitnesses() error {
	for _, o := range m.operations {
		for _, w := range o.Witnesses {
			s := m.states[w.In]
			if s == nil && w.In != "" {
				return fmt.Errorf("operation %s: the witness of %s is in %q, which is no state", o.Name, w.Way, w.In)
			}
			var err error
			if s != nil {
				_, err = m.witnessRow(s, w)
			}
			if err == nil {
				_, err = readData(w.Inputs, o.inputType)
			}
			if err != nil {
				return fmt.Errorf("operation %s: the witness of %s: %w", o.Name, w.Way, err)
			}
		}
	}
	for _, s := range m.stateOrder {
		for _, w := range s.Witnesses {
			if _, err := m.witnessRow(s, w); err != nil {
				return fmt.Errorf("state %s: the witness of %s: %w", s.Name, w.Way, err)
			}
		}
	}
	return nil
}

// witness returns the line of the table about a way, or nil.
func witness(list []Witness, way string) *Witness {
	if i := slices.IndexFunc(list, func(w Witness) bool { return w.Way == way }); i >= 0 {
		return &list[i]
	}
	return nil
}

// unseen tells that no case was met: an error, unless the table says that there is
// none, or that nobody knows.
func unseen(t sink, list []Witness, way, what string) {
	switch w := witness(list, way); {
	case w != nil && w.Never != "":
		t.Logf("%s: it cannot happen, %s", what, w.Never)
	case w != nil && w.Unknown != "":
		t.Logf("%s: %s", what, w.Unknown)
	default:
		t.Errorf("%s", what)
	}
}

// unmoved tells that no case of an operation moves, as unseen does.
func (o *operation) unmoved(t sink) {
	const what = "no case moves"
	way := func(w Witness) bool { return w.Way == "move" || strings.HasPrefix(w.Way, "branch ") }
	if i := slices.IndexFunc(o.Witnesses, func(w Witness) bool { return way(w) && w.Never+w.Unknown != "" }); i >= 0 {
		unseen(t, o.Witnesses, o.Witnesses[i].Way, what)
		return
	}
	t.Errorf("%s", what)
}
