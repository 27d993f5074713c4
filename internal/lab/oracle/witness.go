package oracle

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
func (m *Model) witnessCases(o *Op, s *StateInfo) []Case {
	var list []Case
	for _, w := range o.Witnesses {
		if w.Never+w.Unknown == "" && (s == nil && w.In == "" || s != nil && w.In == s.Name) {
			list = append(list, m.witnessed(o, s, w))
		}
	}
	return list
}

// witnessed makes the case that a line of the table stands for. How it is written
// was looked at when the table was compiled.
func (m *Model) witnessed(o *Op, s *StateInfo, w Witness) Case {
	c := Case{Call: m.BaseCall(o)}
	if s != nil {
		c.Row, _ = m.WitnessRow(s, w)
	}
	if o.By != "system" && w.Actor != "" {
		c.Call.Actor = w.Actor
	}
	c.Call.Inputs, _ = readData(w.Inputs, o.inputType)
	for _, g := range o.Guards {
		if g.Fewer > 0 {
			c.Call.Peers[g.Name] = 0
			if w.Way == "guard "+g.Name {
				c.Call.Peers[g.Name] = g.Fewer
			}
		}
	}
	for _, f := range m.Sequences {
		c.Call.Peers[f.Name] = 1
	}
	return c
}

// WitnessRow is the record of a line of the table.
func (m *Model) WitnessRow(s *StateInfo, w Witness) (driver.Row, error) {
	r := m.BaseRow(s)
	data, err := readData(w.Record, func(name string) *Typ {
		switch f := m.FieldByName[name]; {
		case f != nil:
			return &f.Typ
		case m.isField(name):
			return &Typ{Kind: driver.KindTime}
		}
		return nil
	})
	for _, name := range SortedKeys(data) {
		switch f := m.FieldByName[name]; {
		case f != nil:
			r.Values[f.Index] = data[name]
		case name == "created_at":
			r.CreatedAt = data[name].(time.Time)
		default:
			r.UpdatedAt = data[name].(time.Time)
		}
	}
	return r, err
}

// readData reads the values of a line of the table.
func readData(text string, typeOf func(name string) *Typ) (map[string]any, error) {
	data := map[string]any{}
	if text == "" {
		return data, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return data, fmt.Errorf("%s: %w", text, err)
	}
	for _, name := range SortedKeys(raw) {
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

func readDatum(y *Typ, raw json.RawMessage) (any, error) {
	switch y.Kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		return strconv.ParseInt(string(raw), 10, 64)
	case driver.KindBool:
		return strconv.ParseBool(string(raw))
	case driver.KindJSON:
		return string(raw), nil
	case driver.KindSet:
		var items []string
		err := json.Unmarshal(raw, &items)
		return SetOf(items...), err
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	switch y.Kind {
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
		return TheNow, nil
	}
	d, err := time.ParseDuration(apart)
	return TheNow.Add(d), err
}

func (o *Op) inputType(name string) *Typ {
	if in := o.InputNamed(name); in != nil {
		return &in.Typ
	}
	return nil
}

// checkWitnesses reads every line of the table once.
func (m *Model) checkWitnesses() error {
	for _, o := range m.Ops {
		for _, w := range o.Witnesses {
			s := m.StateByName[w.In]
			if s == nil && w.In != "" {
				return fmt.Errorf("operation %s: the witness of %s is in %q, which is no state", o.Name, w.Way, w.In)
			}
			var err error
			if s != nil {
				_, err = m.WitnessRow(s, w)
			}
			if err == nil {
				_, err = readData(w.Inputs, o.inputType)
			}
			if err != nil {
				return fmt.Errorf("operation %s: the witness of %s: %w", o.Name, w.Way, err)
			}
		}
	}
	for _, s := range m.StateOrder {
		for _, w := range s.Witnesses {
			if _, err := m.WitnessRow(s, w); err != nil {
				return fmt.Errorf("state %s: the witness of %s: %w", s.Name, w.Way, err)
			}
		}
	}
	return nil
}

// WitnessOf returns the line of the table about a way, or nil.
func WitnessOf(list []Witness, way string) *Witness {
	if i := slices.IndexFunc(list, func(w Witness) bool { return w.Way == way }); i >= 0 {
		return &list[i]
	}
	return nil
}

// Unseen tells that no case was met: an error, unless the table says that there is
// none, or that nobody knows.
func Unseen(t Sink, list []Witness, way, what string) {
	switch w := WitnessOf(list, way); {
	case w != nil && w.Never != "":
		t.Logf("%s: it cannot happen, %s", what, w.Never)
	case w != nil && w.Unknown != "":
		t.Logf("%s: %s", what, w.Unknown)
	default:
		t.Errorf("%s", what)
	}
}
