package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// runtimePath is the import path of the runtime, which the test imports beside
// the standard library.
const runtimePath = "github.com/fsmgen/fsmgen/runtime"

// GoTest writes the trace as a test file of the generated package. It stands
// beside the generated tests, whose driver it uses, and fails in the same way as
// the model: on the package that this specification makes.
func (v *Violation) GoTest(m *spec.Machine, format Format) ([]byte, error) {
	if len(v.Trace) == 0 {
		return nil, errors.New("the trace has no steps")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"testing\"\n\t\"time\"\n\n\t\"%s/fsmcases\"\n)\n\n", m.Name, runtimePath)
	fmt.Fprintf(&b, "// TestModelTrace tells what `fsmgen check --model` found:\n//\n//\t%s\n//\n", v.What)
	for i, s := range v.Trace {
		fmt.Fprintf(&b, "//\t%2d  %-9s %s  %s\n", i+1, s.Who, s.What, s.moved())
	}
	b.WriteString("//\n// It fails as long as the generated package lets it happen.\nfunc TestModelTrace(t *testing.T) {\n")
	b.WriteString("at := func(offset time.Duration) time.Time {\nreturn time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(offset)\n}\n")
	fmt.Fprintf(&b, "fsmcases.Retell(t, testPackage, fsmcases.Story{\nEnds: fsmcases.%s,\n", ends[v.kind])
	if v.effect != nil {
		fmt.Fprintf(&b, "Effect: %q,\n", v.effect.Name)
	}
	b.WriteString("Steps: []fsmcases.StoryStep{\n")
	for _, s := range v.real {
		if s.Do == "" {
			fmt.Fprintf(&b, "{At: %s%s}, // %s\n", offset(s.call.At), s.gaveUp, v.Trace[s.step].What)
			continue
		}
		writeStep(&b, s.Record, s.Request, s.call, offset)
		b.WriteString("},\n")
	}
	b.WriteString("},\n})\n}\n")
	text, err := format(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the test is no Go: %w", err)
	}
	return text, nil
}

var ends = map[wrongKind]string{
	wrongEffect: "EndsTwice", wrongOrder: "EndsEarly", wrongInvariant: "EndsBroken",
}

// realStep is a step that somebody takes: a call, or a delivery when Do is empty.
type realStep struct {
	step    int // in the trace
	Record  string
	Do      string
	Request string
	gaveUp  string // of a delivery: the effect that gives up, and its error
	call    interp.Call
}

// tell makes the real steps of a trace.
func (c *checker) tell(trace []Step) []realStep {
	r := &teller{t: c.t}
	var list []realStep
	for n, s := range trace {
		i := s.Record - 1
		switch s.kind {
		case movePass:
			r.pass(i, s)
		case movePerform: // a delivery performs and records at once
			if last := n == len(trace)-1; last {
				list = append(list, realStep{step: n, call: interp.Call{At: r.clock(i)}})
			}
		case moveDeliver:
			list = append(list, realStep{step: n, call: interp.Call{At: r.clock(i)}})
		case moveGiveUp:
			list = append(list, realStep{step: n, call: interp.Call{At: r.clock(i)}, gaveUp: givesUp(s.gaveUp, problemOf(s.call))})
		case moveCall:
			next := realStep{step: n, Record: fmt.Sprintf("r%d", i+1), Do: s.Op.Name, call: r.call(i, s.call, s.seen)}
			if s.Op.By == spec.BySystem {
				next.call.Actor = ""
			} else if c.m.RequestID != spec.None {
				next.Request = fmt.Sprintf("step-%d", n+1)
			}
			list = append(list, next)
			if d, refusal := interp.Decide(c.m, r.records[i], next.call, c.t.others()); refusal == nil {
				r.records[i] = d.Record
			}
		}
	}
	return list
}

// problemOf is the error that a call of `failed` brings, or some error.
func problemOf(c interp.Call) string { return cmp.Or(c.Inputs[spec.ErrorInput].Text, "no answer") }

// givesUp writes that an effect gives up.
func givesUp(e *spec.Effect, problem string) string {
	return fmt.Sprintf(", GivesUp: %q", e.Name+": "+problem)
}

// offset writes an instant as a call of at.
func offset(at time.Time) string {
	d := at.Sub(epoch)
	whole, rest := d.Truncate(time.Hour), d%time.Hour
	switch {
	case whole == 0:
		return fmt.Sprintf("at(%d * time.Millisecond)", rest.Milliseconds())
	case rest == 0:
		return fmt.Sprintf("at(%d * time.Hour)", whole/time.Hour)
	}
	return fmt.Sprintf("at(%d*time.Hour + %d*time.Millisecond)", whole/time.Hour, rest.Milliseconds())
}

// writeStep writes a step without its end; at writes an instant.
func writeStep(b *bytes.Buffer, record, request string, c interp.Call, at func(time.Time) string) {
	fmt.Fprintf(b, "{Record: %q, Do: %q", record, c.Op.Name)
	for _, part := range [][2]string{{"Actor", c.Actor}, {"Reason", c.Reason}, {"Request", request}} {
		if part[1] != "" {
			fmt.Fprintf(b, ", %s: %q", part[0], part[1])
		}
	}
	fmt.Fprintf(b, ", At: %s", at(c.At))
	if len(c.Inputs) == 0 {
		return
	}
	b.WriteString(", Inputs: map[string]any{")
	for _, name := range slices.Sorted(maps.Keys(c.Inputs)) {
		fmt.Fprintf(b, "%q: %s, ", name, literal(c.Inputs[name], at))
	}
	b.Truncate(b.Len() - 2)
	b.WriteString("}")
}

// literal writes a value as the calls of package fsmcases take it.
func literal(v interp.Value, at func(time.Time) string) string {
	switch v.Kind {
	case interp.KindAbsent:
		return "nil"
	case interp.KindInt, interp.KindDuration:
		return fmt.Sprintf("int64(%d)", v.Num)
	case interp.KindBool:
		return strconv.FormatBool(v.Num != 0)
	case interp.KindTime:
		return at(v.AsTime())
	case interp.KindSet:
		text, _ := json.Marshal(v.Members()) // texts always marshal
		return strconv.Quote(string(text))
	}
	return strconv.Quote(v.Text)
}
