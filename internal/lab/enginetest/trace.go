package enginetest

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

var traceFile = flag.String("enginetest.trace", "", "before the tests, write every case and what came of it to this `file`, one JSON object a line")

// traceLimit is how many cases of one cell a trace holds.
const traceLimit = 80

// trace writes every case over the pure layer and over every store, then the
// walks, and the calls that meet other records.
func trace[R any](s *world.Suite[R], t *testing.T) {
	f, err := os.Create(*traceFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	enc := json.NewEncoder(f)
	engine := ""
	note := func(l TraceLine) {
		l.Engine = engine
		if err := enc.Encode(l); err != nil {
			t.Error(err)
		}
	}
	s.Note = func(x world.Step[R]) { note(traceStep(s, x)) }
	engine = "pure"
	for _, o := range s.M.Ops {
		for _, from := range s.M.From(o) {
			var late *oracle.Case
			for c := range s.M.CasesUpTo(o, from, traceLimit) {
				note(tracePure(s, o, c))
				if late == nil {
					late = s.M.Late(o, c)
				}
			}
			if late != nil {
				note(tracePure(s, o, *late))
			}
		}
	}
	for _, st := range append([]world.Store{world.Memory}, s.Stores...) {
		engine = st.Name
		for _, o := range s.M.Ops {
			traceDurable(s, t, st, o, note)
		}
		for walk := range world.WalkCount {
			s.Walk(t, st, world.WalkSource(walk))
		}
		next(s, t, st)
		others(s, t, st)
	}
}

func tracePure[R any](s *world.Suite[R], o *oracle.Op, c oracle.Case) TraceLine {
	l := TraceLine{Kind: "case", Operation: o.Name, Call: traceCall(c.Call)}
	var r R
	if !o.Creates {
		l.Row = traceRow(c.Row)
		var err error
		if r, err = s.D.Descriptor.Decode(c.Row); err != nil {
			l.Outcome.Code = "decode: " + err.Error()
			return l
		}
	}
	ev, err := oracle.Did(&s.D, &r, o, c.Call)
	if err != nil {
		l.Outcome = traceRefusal(s, err)
	} else {
		l.Outcome = TraceOutcome{Row: traceRow(s.D.Descriptor.Encode(&r)), RecordOnly: ev.RecordOnly, Guard: ev.Guard}
		name := ev.Name
		if name == o.EventName {
			name = o.Event // as the specification has it
		}
		l.Outcome.Events = []TraceEvent{{Operation: o.Name, Name: name, From: ev.From, To: ev.To, Rev: s.D.Descriptor.Encode(&r).Rev, Guard: ev.Guard}}
	}
	return l
}

// traceDurable runs the cases of one operation over one store, each on a record
// of its own that has no others in its groups.
func traceDurable[R any](s *world.Suite[R], t *testing.T, st world.Store, o *oracle.Op, note func(TraceLine)) {
	h := s.NewHarness(t, st)
	if !h.M.Exported(o) {
		return
	}
	n := 0
	for _, from := range s.M.From(o) {
		var batch []oracle.Case
		for c := range s.M.CasesUpTo(o, from, traceLimit) {
			if from != nil && !s.M.Sound(c.Row) || slices.ContainsFunc(o.Guards, func(g *oracle.GuardInfo) bool { return g.Fewer > 0 && c.Call.Peers[g.Name] != 0 }) {
				continue
			}
			n++
			c = c.Clone()
			c.Row.ID = fmt.Sprintf("record-%d", n)
			c.Row.Rev = 1
			c.Call.ID = c.Row.ID
			c.Call.Peers = maps.Clone(c.Call.Peers)
			for name := range c.Call.Peers {
				if s.M.FieldByName[name] != nil {
					c.Call.Peers[name] = 1
				}
			}
			if o.By == "system" {
				c.Call.Reason = ""
			} else if s.M.RequestID != "none" {
				c.Call.RequestID = h.RequestID()
			}
			if apart(s.M, o, &c, n) || n == 1 {
				batch = append(batch, c)
			}
		}
		if from != nil {
			var rows []driver.Row
			for _, c := range batch {
				rows = append(rows, c.Row)
			}
			seed(h, rows...)
		}
		for _, c := range batch {
			l := TraceLine{Kind: "case", Operation: o.Name, Call: traceCall(c.Call)}
			var at fsm.Target
			if from != nil {
				l.Row, at = traceRow(c.Row), fsm.Ref{ID: c.Row.ID, Rev: 1}
			}
			got, err := h.D.Do(h.Ctx, o.Name, at, c.Call)
			l.Outcome = traceOutcome(s, got, err)
			note(l)
		}
	}
}
