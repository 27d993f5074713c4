package world

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Pick is a call of an operation that lets the store choose up to n records.
func (w *World) Pick(o *oracle.Op, n int, c oracle.Call) []Expected {
	if v := w.acceptCall(o, &c, false); v.Code != "" {
		return []Expected{{Verdict: v}}
	}
	if c.RequestID != "" && o.By != "system" {
		if e, known := w.replay(o, "", c); known {
			if e.Code != "" {
				return []Expected{e}
			}
			return w.replayedBatch(c.RequestID)
		}
	}
	if v := w.acceptInputs(o, c); v.Code != "" {
		return []Expected{{Verdict: v}}
	}
	// One record after the other, in what the ones before it have made of the
	// world. What is refused is passed over, and so is what fails a guard and
	// would be recorded only. An effect that fails takes all of them back.
	var list []Expected
	trial := w.Clone()
	for _, id := range w.fitting(o, c) {
		if len(list) == n {
			break
		}
		call := c
		call.ID = id
		step := trial.Clone()
		e := step.Commit(o, step.Rows[id], call, call.RequestID != "", "")
		switch {
		case e.Code == fsm.ErrEffect:
			return []Expected{e}
		case e.Code == "" && e.Kept == "":
			list = append(list, e)
			trial = step
		}
	}
	if len(list) == 0 {
		return []Expected{{Verdict: oracle.Refused(fsm.ErrNothingToDo)}}
	}
	*w = *trial
	return list
}

// fitting lists the records that `next` looks at, the first one first.
func (w *World) fitting(o *oracle.Op, c oracle.Call) []string {
	c.At = driver.Time(c.At)
	var fit []driver.Row
	for _, id := range oracle.SortedKeys(w.Rows) {
		r := w.Rows[id]
		if k := o.Cells[w.M.StateOf(r.State).Name].Kind; (k == oracle.CellMove || k == oracle.CellChoose) && w.M.AllHold(o.WhereFacts, o, r, c) {
			fit = append(fit, r)
		}
	}
	w.M.sortRows(fit, o.Order)
	var ids []string
	for _, r := range fit {
		ids = append(ids, r.ID)
	}
	return ids
}

// sortRows sorts rows by an order of the table, absent values last, then by id.
func (m *Model) sortRows(list []driver.Row, order string) {
	slices.SortStableFunc(list, func(a, b driver.Row) int {
		for _, key := range oracle.List(order) {
			name, descending := strings.CutPrefix(key, "-")
			t := oracle.Term{Field: name}
			x, y := m.TermValue(t, nil, a, oracle.Call{}), m.TermValue(t, nil, b, oracle.Call{})
			d := 0
			switch {
			case x == nil || y == nil: // absent values come last, whatever the direction
				d = map[bool]int{true: 1}[x == nil] - map[bool]int{true: 1}[y == nil]
			case descending:
				d = compareValues(y, x)
			default:
				d = compareValues(x, y)
			}
			if d != 0 {
				return d
			}
		}
		return strings.Compare(a.ID, b.ID)
	})
}

func compareValues(a, b any) int {
	if x, ok := a.(bool); ok {
		return map[bool]int{true: 1}[x] - map[bool]int{true: 1}[b.(bool)]
	}
	return oracle.Compare(a, b)
}
