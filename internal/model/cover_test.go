package model

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines"
	"github.com/fsmgen/fsmgen/spec"
)

// vacuous pays one invoice twice, which takes two records. With one account there is
// room for one record only.
const vacuous = `
fsm: 1
machine: payment
entity: Payment
requests: {request_id: required, expected_rev: optional}
otherwise: reject
fields: {account: string, invoice: string}
states: {open: {}, paid: {terminal: true}}
unique:
  one_per_account: {fields: account, in: [open, paid], error: account_taken}
guards:
  new_account: {none: {same: account, in: [open, paid]}, error: account_taken}
operations:
  begin: {creates: open, require: [new_account], set: {account: input, invoice: input}}
  pay: {from: open, to: paid, effect: {name: charge, key: invoice, atomic: true}}
`

// unseen has a crowd that is scaled, a branch that nothing leads to, and an
// operation behind it.
const unseen = `
fsm: 1
machine: part
entity: Part
requests: {request_id: optional, expected_rev: optional}
otherwise: reject
fields: {upload: string, tries: {type: counter, changed_by: [try]}}
states: {stored: {}, worn: {}, freed: {terminal: true}}
guards:
  room: {fewer: {than: 1000, same: upload, in: [stored]}, error: too_many}
operations:
  put: {creates: stored, require: [room], set: {upload: input}}
  try: {from: stored, increment: [tries], choose: [{when: tries > 500, to: worn}, {to: same}]}
  free: {from: stored, to: freed}
  scrap: {from: worn, to: freed}
`

// passing has a state that a record only passes through, within the transaction of ship:
// nobody ever calls weigh there. Its box is a number that a field bounds.
const passing = `
fsm: 1
machine: parcel
entity: Parcel
requests: {request_id: required, expected_rev: optional}
otherwise: reject
fields: {box: int 5..9, tag: optional string}
states: {open: {}, moving: {}, gone: {terminal: true}}
guards:
  tagged: {when: tag is present, error: no_tag}
operations:
  make: {creates: open, input: {size: int -3..30}, set: {box: input.size}}
  ship: {from: open, to: moving, effect: {name: carry, key: id, atomic: true}, then: arrive}
  weigh: {from: moving, to: same, require: [tagged]}
  arrive: {by: system, from: moving, to: gone}
`

// A search says that every promise holds only where everything happened; it looks for
// bounds in which it does, or names what did not.
func TestNothingHappened(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src, what string
		o               Options
		missing         []string
		groups, counter int
	}{
		{"two groups are found", vacuous, "effect charge applied 2 times for invoice k1", Options{}, nil, 2, 3},
		{"one group is named", vacuous, "", Options{Groups: 1}, []string{"two records with one key of effect charge"}, 1, 3},
		{"passed through", passing, "", Options{}, []string{"operation weigh", "a refusal by guard tagged"}, 1, 3},
		{"beyond all bounds", unseen, "", Options{}, []string{"branch 1 of try", "operation scrap", "state worn"}, 1, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, found := spec.Parse("test.yaml", []byte(tt.src))
			if found.HasErrors() {
				t.Fatal(found)
			}
			r := Check(m, tt.o)
			what := ""
			if r.Violation != nil {
				what = r.Violation.What
			}
			if what != tt.what || r.Options.Groups != tt.groups || r.Options.Counter != tt.counter {
				t.Errorf("%q with %+v", what, r.Options)
			}
			if tt.what == "" && !slices.Equal(names(r.Missing), tt.missing) {
				t.Errorf("missing %q, want %q", names(r.Missing), tt.missing)
			}
			if what == "" && r.Verdict() == "every promise holds within the bounds" {
				t.Error("it says that every promise holds")
			}
		})
	}
}

// names is what is missing.
func names(list []Missing) []string {
	var names []string
	for _, x := range list {
		names = append(names, x.What)
	}
	return names
}

// crowd has guards that count, with numbers of any size, and a rule that breaks behind
// the last place of the largest one.
func crowd(than []int64, broken string) string {
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: seat\nentity: Seat\nrequests: {request_id: optional, expected_rev: optional}\notherwise: reject\n" +
		"fields: {room: string, code: string, n: int 0..3, hour: optional time}\nstates: {asked: {}, held: {}, sat: {}, gone: {terminal: true}}\nguards:\n")
	for i, n := range than {
		fmt.Fprintf(&b, "  few%d: {fewer: {than: %d, same: room, in: [held, sat]}, error: full}\n", i, n)
	}
	b.WriteString("operations:\n  ask: {creates: asked, set: {room: input, code: input, n: input}}\n")
	for i := range than {
		fmt.Fprintf(&b, "  hold%d: {from: asked, to: held, require: [few%d]}\n", i, i)
	}
	fmt.Fprintf(&b, "  sit: {from: held, to: sat%s}\n  go: {from: sat, to: gone}\n", broken)
	return b.String()
}

// Whatever the numbers of guards on other records are, all that can happen happens in a
// search without a flag, which meets no bound on states, and what two records can break is found.
func TestCrowdsAreScaled(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(36, 14))
	for range 12 {
		than := []int64{10 + r.Int64N(1000)}
		if r.IntN(2) == 0 {
			than = append(than, 1+r.Int64N(1000))
		}
		for _, broken := range []string{"", ", effect: {name: bill, key: code, atomic: true}"} {
			m, found := spec.Parse("seat.yaml", []byte(crowd(than, broken)))
			if found.HasErrors() {
				t.Fatal(found)
			}
			got := Check(m, Options{})
			whole := !slices.ContainsFunc(got.Limits, func(l string) bool { return strings.Contains(l, "states") })
			told := slices.ContainsFunc(got.Limits, func(l string) bool { return strings.Contains(l, fmt.Sprintf("fewer than %d,", than[0])) })
			if (got.Violation != nil) != (broken != "") || broken == "" && len(got.Missing) > 0 || !whole || !told {
				t.Errorf("%d%s: violation %t, missing %q, limits %q, %s", than, broken, got.Violation != nil, got.Missing, got.Limits, got.Summary())
			}
		}
	}
}

// A branch that only records happens, too, and what needs several people or a high count
// is found with one record where several records are too many. A round that is over leaves
// no manuscript to its author, so the guard of the last round is never asked in vain.
func TestFoundMachinesHappen(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string][]string{
		"volume": nil, "lot": nil, "king": nil, "manuscript": {"a refusal by guard rounds_left"},
	} {
		file := "../lab/fuzzmachines/testdata/" + name + ".yaml"
		src, err := os.ReadFile(file) //nolint:gosec // our own
		if err != nil {
			t.Fatal(err)
		}
		m, found := spec.Parse(file, src)
		if found.HasErrors() {
			t.Fatal(found)
		}
		if r := Check(m, Options{}); r.Violation != nil || !slices.Equal(names(r.Missing), missing) {
			t.Errorf("%s: missing %q with %+v, want %q", name, names(r.Missing), r.Options, missing)
		}
		if name == "king" {
			r := Check(m, Options{Counter: 3})
			if more := fmt.Sprintf("branch 12 of go_north, and %d more", len(r.Missing)-12); !strings.HasSuffix(r.Verdict(), more) {
				t.Errorf("%q, want the end %q", r.Verdict(), more)
			}
		}
	}
}

// What the search says never happened does not happen in the interpreter's world
// within the same bounds, and names make no difference to it.
func TestCoverageIsTrue(t *testing.T) {
	t.Parallel()
	machines := map[string]*spec.Machine{}
	for _, pattern := range []string{"../../specs/*.yaml", "../../examples/machines/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			src, err := os.ReadFile(file) //nolint:gosec // our own
			if err != nil {
				t.Fatal(err)
			}
			machines[file], _ = spec.Parse(file, src)
		}
	}
	random, states := uint64(30), 1500
	if campaign.On() {
		random, states = 120, 5000
	}
	for seed := range random {
		src := fuzzmachines.Random(rand.New(rand.NewPCG(seed, 7))) //nolint:gosec // a machine that can be told again
		if m, found := spec.Parse("random.yaml", []byte(src)); m != nil && !found.HasErrors() {
			machines[fmt.Sprint("random ", seed)] = m
		}
	}
	machines["vacuous"], _ = spec.Parse("vacuous.yaml", []byte(vacuous))
	machines["unseen"], _ = spec.Parse("unseen.yaml", []byte(unseen))
	whole, steps, missed := 0, 0, 0
	for name, m := range machines {
		for _, o := range []Options{{Records: 1, Groups: 1}, {Records: 2, Groups: 2}} {
			o.Workers, o.Counter, o.MaxStates = 2, 2, states
			if times := classify(m); slices.ContainsFunc(m.Builtin, func(f *spec.Field) bool { return times.matters(f) }) {
				continue // a step and what follows it have one instant, which is not looked at
			}
			r := Check(m, o)
			if r.Violation != nil || r.States > o.MaxStates {
				continue
			}
			whole++
			missed += len(r.Missing)
			plain := o
			plain.NoSymmetry = true
			if p := Check(m, plain); p.States <= o.MaxStates && !slices.Equal(names(p.Missing), names(r.Missing)) {
				t.Errorf("%s: with names told apart %q is missing, without %q", name, names(p.Missing), names(r.Missing))
			}
			for seed := range uint64(6) {
				steps += happens(t, name, m, o, names(r.Missing), seed, false)
			}
		}
	}
	t.Logf("%d searches, %d missing, %d steps", whole, missed, steps)
	if whole < 40 || missed < 20 || steps < 1200 {
		t.Errorf("%d searches to the end, %d missing, %d steps: want more", whole, missed, steps)
	}
}

// happens takes random steps in the interpreter's world and returns how many were
// taken. None of them may be among what is missing. Wild calls have any inputs, from anybody.
func happens(t *testing.T, name string, m *spec.Machine, o Options, missing []string, seed uint64, wild bool) int {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // a walk that can be told again
	c := newChecker(m, Defaults(m, o))
	var world interp.World
	taken, made, now := 0, 0, epoch
	never := func(what string) {
		if slices.Contains(missing, what) {
			t.Errorf("%s, %d records, %d groups: %s happened", name, o.Records, o.Groups, what)
		}
	}
	if len(c.t.calls) == 0 {
		return 0
	}
	steps := 60
	if wild {
		steps = 300
	}
	for n := range steps {
		x := c.t.calls[rnd.IntN(len(c.t.calls))]
		if c.hidden[x.op.Index] || (made == 0) != (len(x.op.Creates) > 0) && made == 0 {
			continue
		}
		now = now.Add(time.Duration(1+rnd.IntN(40)) * time.Hour)
		call := x.call
		call.At, call.Inputs = now, timed(call.Inputs, now, rnd)
		if wild {
			call.Actor, call.Inputs = fmt.Sprint("w", rnd.IntN(5)), anything(m, x.op, now, rnd)
		}
		var before interp.Record
		switch {
		case len(x.op.Creates) > 0 && made == o.Records:
			continue
		case len(x.op.Creates) > 0:
			call.ID, before = fmt.Sprint("r", made), interp.NewRecord(m, "")
		default:
			call.ID = fmt.Sprint("r", rnd.IntN(made))
			before = world.Records[call.ID]
		}
		if x.op.By == spec.BySystem {
			call.Actor = ""
		} else if m.RequestID != spec.None {
			call.RequestID = fmt.Sprint("q", n)
		}
		if m.ExpectedRev != spec.None && len(x.op.Creates) == 0 {
			call.ExpectedRev = before.Rev
		}
		out, after, refusal := interp.Step(m, world, call)
		if refusal != nil && refusal.Code == interp.CodeGuard && refusal.Operation == x.op.Name {
			never("a refusal by guard " + refusal.Guard)
		}
		if refusal != nil || out.Existing || out.Replayed {
			continue
		}
		if out.RecordOnly {
			if d, _ := interp.Decide(m, before, call, c.t.others()); d.Branch != nil && m.Class(before.State, x.op) == spec.Transition {
				never(fmt.Sprintf("branch %d of %s", slices.Index(x.op.Choose, d.Branch)+1, x.op.Name))
			}
			continue
		}
		if c.t.aboveBound(after.Records[call.ID]) {
			continue // not looked at
		}
		never("operation " + x.op.Name)
		if d, _ := interp.Decide(m, before, call, c.t.others()); d.Branch != nil {
			never(fmt.Sprintf("branch %d of %s", slices.Index(x.op.Choose, d.Branch)+1, x.op.Name))
		}
		if len(x.op.Creates) > 0 {
			made++
		}
		world = after
		taken++
	}
	return taken
}

// timed is the inputs with instants around now.
func timed(inputs map[string]interp.Value, now time.Time, rnd *rand.Rand) map[string]interp.Value {
	list := map[string]interp.Value{}
	for name, v := range inputs {
		if v.Kind == interp.KindTime {
			v = interp.Time(now.Add(time.Duration(rnd.IntN(100)-50) * time.Hour))
		}
		list[name] = v
	}
	return list
}
