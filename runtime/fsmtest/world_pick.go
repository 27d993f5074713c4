package fsmtest

import (
	"slices"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// pick is a call of an operation that lets the store choose up to n records.
func (w *world) pick(o *operation, n int, c Call) []expected {
	if v := w.acceptCall(o, &c); v.code != "" {
		return []expected{{verdict: v}}
	}
	if c.RequestID != "" && o.By != "system" {
		if e, known := w.replay(o, "", c); known {
			if e.code != "" {
				return []expected{e}
			}
			return w.replayedBatch(c.RequestID)
		}
	}
	if v := w.acceptInputs(o, c); v.code != "" {
		return []expected{{verdict: v}}
	}
	// One record after the other, in what the ones before it have made of the
	// world. What is refused is passed over, and so is what fails a guard and
	// would be recorded only. An effect that fails takes all of them back.
	var list []expected
	trial := w.clone()
	for _, id := range w.fitting(o, c) {
		if len(list) == n {
			break
		}
		call := c
		call.ID = id
		step := trial.clone()
		e := step.commit(o, step.rows[id], call, call.RequestID != "", "")
		switch {
		case e.code == fsm.ErrEffect:
			return []expected{e}
		case e.code == "" && e.kept == "":
			list = append(list, e)
			trial = step
		}
	}
	if len(list) == 0 {
		return []expected{{verdict: refused(fsm.ErrNothingToDo)}}
	}
	*w = *trial
	return list
}

// fitting lists the records that `next` looks at, the first one first.
func (w *world) fitting(o *operation, c Call) []string {
	c.At = driver.Time(c.At)
	var fit []driver.Row
	for _, id := range sortedKeys(w.rows) {
		r := w.rows[id]
		if k := o.cells[w.m.stateOf(r.State).Name].kind; (k == cellMove || k == cellChoose) && w.m.allHold(o.where, o, r, c) {
			fit = append(fit, r)
		}
	}
	slices.SortStableFunc(fit, func(a, b driver.Row) int {
		for _, key := range list(o.Order) {
			name, descending := strings.CutPrefix(key, "-")
			t := term{field: name}
			x, y := w.m.termValue(t, o, a, c), w.m.termValue(t, o, b, c)
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
	var ids []string
	for _, r := range fit {
		ids = append(ids, r.ID)
	}
	return ids
}

func compareValues(a, b any) int {
	if x, ok := a.(bool); ok {
		return map[bool]int{true: 1}[x] - map[bool]int{true: 1}[b.(bool)]
	}
	return compare(a, b)
}
