package prove_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// seeds is how many random machines the tests look at.
func seeds() uint64 {
	if !campaign.On() {
		return 40
	}
	return 150
}

// noon is the time of the calls.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// data turns what an example holds into what the interpreter reads.
func data(d prove.Datum) interp.Value {
	switch {
	case d.Kind == spec.KindSet:
		return interp.Set(d.Members...)
	case !d.Present:
		return interp.Absent
	}
	switch d.Kind {
	case spec.KindString:
		return interp.String(d.Text)
	case spec.KindJSON:
		return interp.JSON(d.Text)
	case spec.KindEnum:
		return interp.Word(d.Text)
	case spec.KindBool:
		return interp.Bool(d.Num != 0)
	case spec.KindTime:
		return interp.Time(d.Time)
	case spec.KindDuration:
		return interp.Span(d.Num)
	}
	return interp.Int(d.Num)
}

// replay makes the call of an example.
func replay(m *spec.Machine, e *prove.Example) (interp.Record, interp.Decision, *interp.Refusal) {
	r := interp.NewRecord(m, "a")
	others := interp.Others{Next: map[string]int64{}}
	if e.From != nil {
		r = r.In(e.From)
		r.Rev = 1
		for _, f := range m.Fields {
			r = r.With(m, f.Name, data(e.Before[f]))
		}
		r.CreatedAt, r.UpdatedAt = e.Before[m.Field("created_at")].Time, e.Before[m.Field("updated_at")].Time
	}
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence {
			others.Next[f.Name] = e.After[f].Num
		}
	}
	c := interp.Call{Op: e.Op, ID: "a", Actor: e.Actor, Reason: "because", At: e.Now, Inputs: map[string]interp.Value{}}
	for in, d := range e.Inputs {
		if v := data(d); v.Kind != interp.KindAbsent {
			c.Inputs[in.Name] = v
		}
	}
	d, refusal := interp.Decide(m, r, c, others)
	return r, d, refusal
}

// broken lists the facts that a record breaks, MUST or SHOULD.
func broken(m *spec.Machine, r interp.Record, must bool) []string {
	var rules []string
	for _, v := range interp.Check(m, r) {
		if v.Must == must {
			rules = append(rules, v.Rule)
		}
	}
	return rules
}

// What the proof reports is so: the record of the example keeps everything that
// its state promises, the interpreter accepts the call up to the invariants,
// and the record after it breaks the fact that the finding names.
func TestCounterexamplesAreReal(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range seeds() {
		m, src := randomMachine(t, seed)
		if m == nil {
			t.Fatalf("seed %d: %s", seed, src)
		}
		for _, f := range prove.Machine(m).Findings {
			if f.Example == nil {
				switch {
				case !strings.HasPrefix(f.Code, "FSM3"):
				case strings.Contains(f.Message, " may leave ") && strings.Contains(src, "backoff"): // it grows often
					seen["undecided"]++
				default:
					t.Errorf("seed %d: %s has no example\n%s", seed, f.Message, src)
				}
				continue
			}
			seen[f.Code]++
			if strings.Contains(f.Message, " + ") || strings.Contains(f.Message, " - ") {
				seen["sums"]++
			}
			if problem := unreal(m, f); problem != "" {
				t.Errorf("seed %d: %s %s: %s\nbefore %s\nafter  %s\n%s", seed, f.Code, f.Message, problem, f.Before(m), f.After(m), src)
				return
			}
		}
	}
	for _, code := range []string{"FSM203", "FSM301", "FSM302", "FSM303", "FSM304", "sums"} {
		if seen[code] < 10 {
			t.Errorf("only %d examples of %s: the machines are too tame", seen[code], code)
		}
	}
	if all := seen["FSM301"] + seen["FSM302"] + seen["FSM303"] + seen["FSM304"]; 200*seen["undecided"] > all {
		t.Errorf("%d findings of %d are not decided", seen["undecided"], all)
	}
	t.Logf("examples replayed: %v", seen)
}

// unreal says what is wrong with the example of a finding, or "".
func unreal(m *spec.Machine, f prove.Finding) string {
	before, d, refusal := replay(m, f.Example)
	if f.Example.From != nil {
		if rules := broken(m, before, true); len(rules) > 0 {
			return "the record before breaks " + strings.Join(rules, ", ")
		}
		if rules := broken(m, before, false); f.Code == "FSM303" && len(rules) > 0 {
			return "the record before breaks " + strings.Join(rules, ", ")
		}
	}
	if f.Code == "FSM304" {
		named, _, _ := strings.Cut(f.Message[strings.Index(f.Message, "`")+1:], "`")
		in, isInput := strings.CutPrefix(named, "input.")
		if !isInput { // a part of a sum
			if f.Example.Before[m.Field(in)].Present {
				return "the field is there"
			}
			return ""
		}
		for i, v := range f.Example.Inputs {
			switch {
			case i.Name != in:
			case v.Present:
				return "the input is there"
			case refusal != nil && refusal.Code != interp.CodeInvariant && refusal.Code != interp.CodeOverflow && !ofBranch(f.Example.Op, refusal):
				return "refused: " + refusal.Error()
			}
		}
		return ""
	}
	// The record after, as the example tells it.
	after := before.In(f.Example.To)
	for _, field := range m.Fields {
		after = after.With(m, field.Name, data(f.Example.After[field]))
	}
	after.CreatedAt, after.UpdatedAt = f.Example.After[m.Field("created_at")].Time, f.Example.After[m.Field("updated_at")].Time
	for _, s := range f.Example.Op.Effects.Set { // no branch of these machines sets such a field again in a creation
		if text := f.Example.After[s.Field].Text; s.Default && s.Value.Kind == spec.ValueText && text != s.Value.Const {
			return fmt.Sprintf("%s is shown as %q, and its default is %q", s.Field.Name, text, s.Value.Const)
		}
	}
	must, should := broken(m, after, true), broken(m, after, false)
	switch {
	case refusal != nil && refusal.Code != interp.CodeInvariant && refusal.Code != interp.CodeOverflow:
		return "refused: " + refusal.Error()
	case f.Code == "FSM203":
		if refusal == nil || refusal.Name != "choose" && refusal.Code != interp.CodeOverflow {
			return "a branch is taken"
		}
		return ""
	case refusal != nil && refusal.Code == interp.CodeInvariant && !slices.Contains(must, refusal.Name):
		return "the interpreter finds " + refusal.Name + " broken, the record after breaks " + strings.Join(must, ", ")
	case refusal == nil && !slices.Equal(d.Record.Fields, after.Fields):
		return "the interpreter makes another record"
	case f.Code == "FSM303":
		if !slices.ContainsFunc(should, func(rule string) bool { return about(f.Message, rule) }) {
			return "the record after breaks only the SHOULD facts " + strings.Join(should, ", ")
		}
		return ""
	case refusal == nil:
		return "the call is accepted"
	}
	// The interpreter stops at the first broken fact; the finding may be about
	// another one of the same record.
	if !slices.ContainsFunc(must, func(rule string) bool { return about(f.Message, rule) }) {
		return "the record after breaks only " + strings.Join(must, ", ")
	}
	return ""
}

// about reports whether a message of the proof speaks of a rule of the
// interpreter: "can leave `s1` present" of "s1 is absent".
func about(message, rule string) bool {
	_, left, _ := strings.Cut(message, "can leave ")
	if field, ok := strings.CutSuffix(rule, " is present"); ok && left == "`"+field+"` absent" {
		return true
	}
	if field, ok := strings.CutSuffix(rule, " is absent"); ok && left == "`"+field+"` present" {
		return true
	}
	return left == "`"+rule+"` false" || left == "`"+rule+"` outside its bounds"
}

// guess is a value out of few, so that values meet.
func guess(rnd *rand.Rand, t spec.Type) interp.Value {
	if t.Optional && rnd.IntN(3) == 0 {
		return interp.Absent
	}
	text := string(rune('a' + rnd.IntN(3)))
	switch t.Kind {
	case spec.KindString:
		return interp.String(t.Fitted(text))
	case spec.KindJSON:
		return interp.JSON(`"` + text + `"`)
	case spec.KindBool:
		return interp.Bool(rnd.IntN(2) == 0)
	case spec.KindTime:
		return interp.Time(noon.Add(time.Duration(rnd.IntN(5)-2) * 500 * time.Millisecond))
	case spec.KindEnum:
		return interp.Word(t.Values[rnd.IntN(len(t.Values))].Name)
	case spec.KindSet:
		var members []string
		for c := range 3 {
			if rnd.IntN(2) == 0 {
				members = append(members, string(rune('a'+c)))
			}
		}
		return interp.Set(members...)
	case spec.KindDuration:
		return interp.Span(max(*t.Min, int64(rnd.IntN(7))*500_000))
	case spec.KindSequence:
		return interp.Int(int64(1 + rnd.IntN(3)))
	case spec.KindCounter:
		return interp.Int(int64(rnd.IntN(4)))
	}
	return interp.Int(int64(rnd.IntN(6) - 1))
}

// sound looks for a record of the state that keeps everything promised of it.
func sound(m *spec.Machine, s *spec.State, rnd *rand.Rand) (interp.Record, bool) {
	for range 60 {
		r := interp.NewRecord(m, "a").In(s)
		r.Rev = 1
		r.CreatedAt, r.UpdatedAt = guess(rnd, spec.Type{Kind: spec.KindTime}).AsTime(), guess(rnd, spec.Type{Kind: spec.KindTime}).AsTime()
		for _, f := range m.Fields {
			r = r.With(m, f.Name, guess(rnd, f.Type))
		}
		for _, f := range s.Present {
			for !r.Value(m, f.Field).IsPresent() {
				r = r.With(m, f.Field.Name, guess(rnd, f.Field.Type))
			}
		}
		for _, f := range s.Absent {
			r = r.With(m, f.Field.Name, interp.Absent)
		}
		if len(broken(m, r, true)) == 0 {
			return r, true
		}
	}
	return interp.Record{}, false
}

// trace makes random calls on random sound records, and tells visit what came
// of each that its inputs let through.
func trace(m *spec.Machine, rnd *rand.Rand, calls int, visit func(r interp.Record, c interp.Call, d interp.Decision, refusal *interp.Refusal)) {
	for _, op := range m.Operations {
		sources := []*spec.State{nil}
		if len(op.Creates) == 0 {
			sources = nil
			for _, from := range op.From {
				sources = append(sources, from.State)
			}
		}
		for _, from := range sources {
			for range calls {
				r := interp.NewRecord(m, "a")
				if from != nil {
					var ok bool
					if r, ok = sound(m, from, rnd); !ok {
						break
					}
				}
				c := interp.Call{Op: op, ID: "a", Actor: string(rune('a' + rnd.IntN(3))), Reason: "because", At: noon, Inputs: map[string]interp.Value{}}
				for _, in := range op.Inputs {
					if v := guess(rnd, in.Type); v.Kind != interp.KindAbsent {
						c.Inputs[in.Name] = v
					}
				}
				d, refusal := interp.Decide(m, r, c, interp.Others{Next: map[string]int64{"q1": int64(1 + rnd.IntN(3))}})
				if refusal == nil || refusal.Code != interp.CodeInvalidInput {
					visit(r, c, d, refusal)
				}
			}
		}
	}
}

// What the proof lets pass never gets to the interpreter's defence against
// corrupt records: the machine without the operations that have findings keeps
// every invariant of every sound record.
func TestProvenMachinesKeepTheirInvariants(t *testing.T) {
	t.Parallel()
	accepted, operations, summed := 0, 0, 0
	for seed := range seeds() {
		m, src := randomMachine(t, seed)
		if m == nil {
			t.Fatalf("seed %d: %s", seed, src)
		}
		guilty, careless := map[string]bool{}, map[string]bool{}
		for _, f := range prove.Machine(m).Findings {
			name, _, _ := strings.Cut(f.Message, ":")
			if f.Code == "FSM303" {
				careless[name] = true
			}
			if f.Code == "FSM203" || f.Code == "FSM301" || f.Code == "FSM302" || f.Code == "FSM304" {
				guilty[name] = true
			}
		}
		passed := *m
		passed.Operations = slices.DeleteFunc(slices.Clone(m.Operations), func(op *spec.Operation) bool { return guilty[op.Name] })
		operations += len(passed.Operations)
		trace(&passed, rand.New(rand.NewPCG(seed, 3)), 100, func(r interp.Record, c interp.Call, d interp.Decision, refusal *interp.Refusal) {
			switch {
			case refusal == nil:
				accepted++
				for _, part := range partsOf(c.Op, d.Branch) {
					summed++
					if v := interp.Causes(m, []*spec.Fact{{Op: spec.Present, Left: part}}, r, c)[0]; !v.Holds {
						t.Errorf("seed %d: %s adds %s, which is absent\n%s", seed, c.Op.Name, part.Text, src)
					}
				}
				for _, a := range bareOf(c.Op, d.Branch) {
					if _, sent := c.Inputs[a.Value.Input.Name]; !sent {
						t.Errorf("seed %d: %s takes %s, which was not sent\n%s", seed, c.Op.Name, a.Value.Input.Name, src)
					}
				}
				if !careless[c.Op.Name] && (r.State == nil || len(broken(m, r, false)) == 0) {
					if rules := broken(m, d.Record, false); len(rules) > 0 {
						t.Errorf("seed %d: %s makes of %+v a record that breaks the SHOULD facts %v\n%s", seed, c.Op.Name, r, rules, src)
					}
				}
				if len(broken(m, d.Record, true)) > 0 {
					t.Errorf("seed %d: %s leads to a record that breaks %v", seed, c.Op.Name, broken(m, d.Record, true))
				}
			case refusal.Code == interp.CodeInvariant, refusal.Code == interp.CodeOverflow: // no guess is near to a limit
				t.Errorf("seed %d: %v, but the proof of %s passed\nrecord %+v\ninputs %v\n%s", seed, refusal, c.Op.Name, r, c.Inputs, src)
			}
		})
		if t.Failed() {
			return
		}
	}
	if operations < 20 || accepted < 500 || summed < 50 {
		t.Errorf("%d operations passed, %d calls were accepted and %d parts added: the machines are too wild", operations, accepted, summed)
	}
	t.Logf("%d operations passed the proof, %d calls were accepted", operations, accepted)
}

// What the proof calls dead is dead: no call takes such a branch, or passes
// such a guard in such a state.
func TestDeadLinesAreDead(t *testing.T) {
	t.Parallel()
	dead, taken := 0, 0
	for seed := range seeds() {
		m, src := randomMachine(t, seed)
		if m == nil {
			t.Fatalf("seed %d: %s", seed, src)
		}
		branches, guards := map[int]bool{}, map[string]bool{}
		for _, f := range prove.Machine(m).Findings {
			switch {
			case f.Code == "FSM201", f.Code == "FSM204" && strings.Contains(f.Message, "this branch"):
				branches[f.Pos.Line] = true
				dead++
			case f.Code == "FSM202":
				branches[f.Related[0].Pos.Line] = true
				dead++
			case f.Code == "FSM204":
				name, _, _ := strings.Cut(f.Message, " ")
				_, state, _ := strings.Cut(f.Message, " in state ")
				state, _, _ = strings.Cut(state, ":")
				guards[name+" "+state] = true
				dead++
			}
		}
		trace(m, rand.New(rand.NewPCG(seed, 4)), 20, func(r interp.Record, c interp.Call, d interp.Decision, refusal *interp.Refusal) {
			if refusal != nil && refusal.Code == interp.CodeGuard && refusal.Guard != "refused" {
				return
			}
			state := "a creation"
			if r.State != nil {
				state = r.State.Name
			}
			if guards[c.Op.Name+" "+state] {
				t.Errorf("seed %d: %s passes its guards in %s\n%s", seed, c.Op.Name, state, src)
			}
			if d.Branch != nil {
				taken++
				if branches[d.Branch.Pos.Line] {
					t.Errorf("seed %d: %s takes the branch in line %d\n%s", seed, c.Op.Name, d.Branch.Pos.Line, src)
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	if dead < 50 || taken < 100 {
		t.Errorf("%d dead lines and %d branches taken: the machines are too tame", dead, taken)
	}
}

// ofBranch reports whether a branch refuses, which takes the record as the operation leaves it.
func ofBranch(op *spec.Operation, r *interp.Refusal) bool {
	return r.Code == interp.CodeGuard && r.Guard == "refused" ||
		r.Code == interp.CodeInvalidInput && slices.ContainsFunc(op.Choose, func(b *spec.Branch) bool {
			return slices.ContainsFunc(b.Rejects(), func(in *spec.Input) bool { return in.Name == r.Name })
		})
}

// bareOf lists what an operation, by a branch, takes from an optional input as if it were there.
func bareOf(op *spec.Operation, b *spec.Branch) []spec.Assign {
	list := op.Effects.Bare()
	if b != nil {
		list = append(list, b.Effects.Bare()...)
	}
	return list
}

// partsOf lists the fields and inputs that sums of an operation, by a branch, add.
func partsOf(op *spec.Operation, b *spec.Branch) []spec.Term {
	effects := []*spec.Effects{&op.Effects}
	if b != nil {
		effects = append(effects, &b.Effects)
	}
	var list []spec.Term
	for _, e := range effects {
		for _, a := range e.Set {
			for _, p := range a.Value.Parts {
				for _, t := range (spec.Term{Kind: spec.TermSum, Parts: []spec.Part{p}}).Names() {
					if !t.IsConst() {
						list = append(list, t)
					}
				}
			}
		}
	}
	return list
}
