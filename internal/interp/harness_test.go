package interp_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// t0 is when every test begins.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns the instant some seconds after the beginning.
func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

// in are the inputs of a call.
type in = map[string]interp.Value

// parse returns the machine of a specification without a finding.
func parse(t testing.TB, src string) *spec.Machine {
	t.Helper()
	m, found := validate.Source("test.yaml", []byte(src))
	found = slices.DeleteFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Info }) // no finding
	if len(found) > 0 || m == nil {
		t.Fatalf("the specification of the test has findings:\n%v", found)
	}
	return m
}

// unproven returns the machine of a specification that the proof refuses: what
// it finds is what the test is about, and nothing else is wrong.
func unproven(t testing.TB, src string) *spec.Machine {
	t.Helper()
	m, found := spec.Parse("test.yaml", []byte(src))
	if m == nil || len(found) > 0 {
		t.Fatalf("the specification of the test cannot be read:\n%v", found)
	}
	found = validate.Run(m)
	found = slices.DeleteFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Info })
	for _, d := range found {
		if d.Code < "FSM201" || d.Code > "FSM303" {
			t.Fatalf("the specification of the test has findings:\n%v", found)
		}
	}
	if len(found) == 0 {
		t.Fatal("the proof refuses nothing: use parse")
	}
	return m
}

// shipped returns one of the project's machines.
func shipped(t testing.TB, name string) *spec.Machine {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("..", "..", "specs", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(src))
}

// story is a world in a test: calls are made one after the other, each a second
// after the last one.
type story struct {
	testing.TB
	m     *spec.Machine
	w     interp.World
	now   time.Time
	calls int
}

func tell(t testing.TB, m *spec.Machine) *story { return &story{TB: t, m: m, now: t0} }

// call makes a call on record "a" with a request id of its own, at the
// record's revision; edit changes it.
func (s *story) call(op string, inputs in, edit ...func(*interp.Call)) interp.Call {
	s.Helper()
	o := s.m.Operation(op)
	if o == nil {
		s.Fatalf("machine %s has no operation %s", s.m.Name, op)
	}
	s.calls++
	c := interp.Call{Op: o, ID: "a", RequestID: "r" + string(rune('0'+s.calls/10)) + string(rune('0'+s.calls%10)), Actor: "w1", At: s.now, Inputs: inputs}
	if o.By == spec.BySystem || s.m.RequestID == spec.None {
		c.RequestID = "" // it has none
	}
	for _, e := range edit {
		e(&c)
	}
	if r, ok := s.w.Records[c.ID]; ok && c.ExpectedRev == 0 {
		c.ExpectedRev = r.Rev
	}
	if c.ExpectedRev < 0 {
		c.ExpectedRev = 0
	}
	return c
}

// does makes a call that must be accepted.
func (s *story) does(c interp.Call) interp.Outcome {
	s.Helper()
	out, w, refusal := interp.Step(s.m, s.w, c)
	if refusal != nil {
		s.Fatalf("refused: %v", refusal)
	}
	s.w = w
	s.now = s.now.Add(time.Second)
	s.folds()
	return out
}

// refuses makes a call that must be refused, and change nothing.
func (s *story) refuses(c interp.Call, code string) *interp.Refusal {
	s.Helper()
	before := len(s.w.Log)
	_, w, refusal := interp.Step(s.m, s.w, c)
	if refusal == nil {
		s.Fatalf("%s was accepted, want %s", c.Op.Name, code)
	}
	if refusal.Code != code {
		s.Errorf("refused with %v, want %s", refusal, code)
	}
	if len(w.Log) != before || !cmp.Equal(w.Records, s.w.Records, sameRecord) {
		s.Errorf("the refused call changed the world")
	}
	return refusal
}

// folds checks that every record equals the fold of its log.
func (s *story) folds() {
	s.Helper()
	for id, r := range s.w.Records {
		folded, err := interp.Fold(s.m, s.w.History(id))
		if err != nil {
			s.Fatal(err)
		}
		if !folded.Equal(r) {
			s.Errorf("the fold of %s differs from the record (-record +fold):\n%s", id, cmp.Diff(show(s.m, r), show(s.m, folded)))
		}
	}
}

// sameRecord compares records: the graph behind their states has cycles.
var sameRecord = cmp.Comparer(func(a, b interp.Record) bool { return a.Equal(b) })

// show is a record as a test compares it: what is present, as text.
func show(m *spec.Machine, r interp.Record) map[string]string {
	shown := map[string]string{}
	if r.State != nil {
		shown["state"] = r.State.Name
	}
	for i, f := range m.Fields {
		if r.Fields[i].IsPresent() {
			shown[f.Name] = r.Fields[i].String()
		}
	}
	return shown
}

// is compares a record with what it should show.
func (s *story) is(r interp.Record, want map[string]string) {
	s.Helper()
	if diff := cmp.Diff(want, show(s.m, r)); diff != "" {
		s.Errorf("record (-want +got):\n%s", diff)
	}
}

func record(id string) func(*interp.Call)   { return func(c *interp.Call) { c.ID = id } }
func actor(name string) func(*interp.Call)  { return func(c *interp.Call) { c.Actor = name } }
func reason(text string) func(*interp.Call) { return func(c *interp.Call) { c.Reason = text } }
func request(id string) func(*interp.Call)  { return func(c *interp.Call) { c.RequestID = id } }
func when(t time.Time) func(*interp.Call)   { return func(c *interp.Call) { c.At = t } }
func rev(n int64) func(*interp.Call)        { return func(c *interp.Call) { c.ExpectedRev = n } }
func noRev(c *interp.Call)                  { c.ExpectedRev = -1 }
func pick(c *interp.Call)                   { c.ID = "" }
func label(k, v string) func(*interp.Call) {
	return func(c *interp.Call) { c.Labels = map[string]string{k: v} }
}
