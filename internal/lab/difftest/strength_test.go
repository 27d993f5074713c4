package difftest

import (
	order "cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// sameMachine lists the mutants of specifications that mean the same as the
// original, with the reason.
var sameMachine = map[string]string{
	"execution: projection: failed before running":                           "no group fits both rules",
	"jobstate: compensation_event: branch 2 before 1":                        "no call fits both branches",
	"jobstate: other: also from compensating, where it was recorded only":    "its one branch only records",
	"jobstate: other: also from created, where it was recorded only":         "its one branch only records",
	"jobstate: create: compensation_policy: input or same instead of absent": "a new record has no value to keep",
	"lifecycle: enqueue: dedupe_key: input or same instead of absent":        "a new record has no value to keep",
	"lifecycle: enqueue: payload: input or same instead of absent":           "a new record has no value to keep",
}

// floors are the shares, in percent, that the static checks refuse of the
// mutants that change behaviour: found and coarse are those of `fsmgen check
// --strict`, errors that of `fsmgen check`. They are what is reached, and may only
// rise while the machines stay: guards on leases brought facts that tests alone notice, and
// FSM106 and FSM110 ask less of an owner. What only warnings refuse is nothing that every machine must not do: two
// operations may share an event (FSM603), and a call may be recorded early (FSM109).
var floors = struct{ found, errors, coarse float64 }{68.3, 55.3, 71.9}

// TestStrength makes every mutant of the five specifications and looks at who
// notices: first the static checks, which get it as text, then the cases of the
// generated tests of the unchanged machine.
// The mutant is the implementation; a case in which it answers otherwise fails
// the generated test. A mutant is refused when `fsmgen check --strict` fails,
// which is an error or a warning; without --strict it takes an error.
func TestStrength(t *testing.T) {
	campaign.Only(t)
	asked := map[string]casesOf{}
	for _, name := range five {
		asked[name] = generatedCases(t, parsed(t, name))
	}
	var mu sync.Mutex
	sum := newTally()
	static, tested := 0, 0
	var survivors []string
	used, warned := map[string]bool{}, tallyOfCodes{}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, name := range five {
		count := len(specMutants(parsed(t, name)))
		meant := map[string]bool{} // findings of the machine itself: its file allows them, the printed text does not
		for _, d := range refusal(parsed(t, name), nil) {
			meant[d.Code+d.Message] = true
		}
		for i := range count {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				m, original := parsed(t, name), parsed(t, name)
				mutant := specMutants(m)[i]
				mutant.apply()
				found := refusal(m, meant)
				same := sameMachine[mutant.name] != ""
				byTests := (same || len(found) == 0) && noticed(original, m, asked[name])
				mu.Lock()
				defer mu.Unlock()
				if same {
					used[mutant.name] = true
					if byTests {
						t.Errorf("%s is listed as the same machine, but the tests notice it", mutant.name)
					}
					return
				}
				sum.add(mutant, found)
				if len(found) > 0 && !found.HasErrors() {
					warned[found[0].Code]++
				}
				switch {
				case len(found) > 0:
					static++
				case byTests:
					tested++
				default:
					survivors = append(survivors, mutant.name)
				}
			})
		}
	}
	wg.Wait()
	slices.Sort(survivors)
	for _, s := range survivors {
		t.Errorf("nobody notices: %s", s)
	}
	for s := range sameMachine {
		if !used[s] {
			t.Errorf("there is no mutant %s", s)
		}
	}
	t.Logf("mutants by kind, and what the static checks find in them (errors, then warnings):\n%s", sum)
	all := sum.all
	t.Logf("%d mutants, %d of them mean the same; of the other %d `fsmgen check --strict` (errors and warnings) refuses %d (%.1f %%), it and the generated tests %d (%.1f %%)",
		all.mutants+len(used), len(used), all.mutants, static, share(static, all.mutants), static+tested, share(static+tested, all.mutants))
	t.Logf("`fsmgen check` (errors alone) refuses %d (%.1f %%); the warnings that refuse the rest: %s", all.errors, share(all.errors, all.mutants), warned)
	t.Logf("of the %d that change what is said about states, fields and guards, `fsmgen check --strict` refuses %d (%.1f %%), `fsmgen check` %d (%.1f %%)",
		sum.coarse.mutants, sum.coarse.refused, share(sum.coarse.refused, sum.coarse.mutants), sum.coarse.errors, share(sum.coarse.errors, sum.coarse.mutants))
	for _, f := range []struct {
		what       string
		got, floor float64
	}{
		{"of all mutants, with --strict,", share(all.refused, all.mutants), floors.found},
		{"of all mutants, by errors alone,", share(all.errors, all.mutants), floors.errors},
		{"of the mutants of states, fields and guards, with --strict,", share(sum.coarse.refused, sum.coarse.mutants), floors.coarse},
	} {
		if f.got < f.floor {
			t.Errorf("the static checks refuse %.1f %% %s; they refused %.1f %%", f.got, f.what, f.floor)
		}
	}
}

// sameInScenarios lists the mutants of scenarios that mean the same, with the reason.
var sameInScenarios = map[string]string{
	"sums: pay: do not set refunded":                                 "a creation gives a field its default",
	"sums: pay: refunded: one more":                                  "a text has no words for another default of one operation",
	"givesup: declined: branch 2 before 1":                           "both lead to one state",
	"durations: bid: branch 1: when: the bound of closes < now + 5m": "at that instant it is set to what it is",
	"sums: tip_more: branch 1: drop input.more is present":           "the sum below does not hold without it",
}

// TestScenariosAreNoticed makes every mutant of the machines of sums, of effects that give up, of
// lengths and of deadlines: what the static checks leave, the generated tests notice.
func TestScenariosAreNoticed(t *testing.T) {
	used := 0
	for _, name := range []string{"sums", "givesup", "durations", "leases"} {
		t.Run(name, func(t *testing.T) { used += scenarioIsNoticed(t, name) })
	}
	if used != len(sameInScenarios) {
		t.Errorf("of %d mutants that mean the same there are %d", len(sameInScenarios), used)
	}
}

// scenarioIsNoticed returns how many mutants of a scenario mean the same.
func scenarioIsNoticed(t *testing.T, name string) int {
	path := filepath.Join("..", "..", "..", "gen", "testdata", "scenarios", name+".yaml")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parsed := func() *spec.Machine {
		m, found := spec.Parse(path, src)
		if m == nil {
			t.Fatal(found)
		}
		return m
	}
	original := parsed()
	if _, found := spec.Parse(path, []byte(printed(original))); found.HasErrors() {
		t.Fatalf("its text, by which mutants are judged: %v", found)
	}
	asked := generatedCases(t, original)
	meant := map[string]bool{}
	for _, d := range refusal(original, nil) {
		meant[d.Code+d.Message] = true
	}
	static, tested, used := 0, 0, 0
	for i := range specMutants(original) {
		m := parsed()
		mutant := specMutants(m)[i]
		mutant.apply()
		switch same := sameInScenarios[mutant.name] != ""; {
		case len(refusal(m, meant)) > 0 && !same:
			static++
		case noticed(original, m, asked):
			tested++
			if same {
				t.Errorf("%s is listed as the same machine, but the tests notice it", mutant.name)
			}
		case same:
			used++
		default:
			t.Errorf("nobody notices: %s", mutant.name)
		}
	}
	t.Logf("the static checks refuse %d mutants, the generated tests notice %d, and %d mean the same", static, tested, used)
	return used
}

// tallyOfCodes counts findings by code.
type tallyOfCodes map[string]int

// String lists the codes with their counts, the most frequent first.
func (c tallyOfCodes) String() string {
	codes := slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return order.Or(c[b]-c[a], strings.Compare(a, b))
	})
	for i, code := range codes {
		codes[i] = fmt.Sprintf("%s %d", code, c[code])
	}
	return strings.Join(codes, ", ")
}

func parsed(t *testing.T, name string) *spec.Machine {
	path := filepath.Join("..", "..", "..", "specs", name+".yaml")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return nil
	}
	m, found := spec.Parse(path, src)
	if m == nil {
		t.Error(found)
	}
	return m
}

// refusal returns what the static checks find in the text of the machine,
// without what is no finding and what is meant.
func refusal(m *spec.Machine, meant map[string]bool) spec.Diagnostics {
	_, found := validate.Source(m.File, []byte(printed(m)))
	return slices.DeleteFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Info || meant[d.Code+d.Message] })
}

// noticed reports whether a mutant answers a case of the generated tests
// otherwise than the original.
func noticed(original, m *spec.Machine, asked casesOf) bool {
	// What was worked out when the machine was parsed is not so of a mutant: both are read from
	// their texts, where the language has words for the mutant.
	textual, _ := spec.Parse(original.File, []byte(printed(original)))
	mutated, _ := spec.Parse(m.File, []byte(printed(m)))
	if textual != nil && mutated != nil {
		original, m = textual, mutated
	}
	for i, s := range m.States { // Terminal, and what is compared of the descriptor
		if s.Terminal != original.States[i].Terminal {
			return true
		}
	}
	if projectsOtherwise(original, m) || asksOtherwise(original, m) || leads(original) != leads(m) {
		return true
	}
	was, errWas := world.ReadCases(original, asked.Cases, asked.Checks)
	is, errIs := world.ReadCases(m, asked.Cases, asked.Checks)
	if errWas != nil || errIs != nil {
		return true
	}
	for i := range was.List {
		if answer(original, was.List[i]) != answer(m, is.List[i]) {
			return true
		}
	}
	for _, s := range original.States {
		if checked(was, s) != checked(is, m.State(s.Name)) {
			return true
		}
	}
	return false
}

// leads tells what each operation does in each state, which a generated test tries one by one.
func leads(m *spec.Machine) string {
	told := ""
	for _, o := range m.Operations {
		for _, class := range m.Row(o) {
			told += fmt.Sprint(class == spec.Reject)
		}
		var moves []string
		for _, v := range o.Moves() {
			moves = append(moves, shown(v.Source(), interp.Record{State: v.To}))
		}
		slices.Sort(moves)
		told += fmt.Sprintln(o.Name, slices.Compact(moves))
	}
	return told
}

// answer is what comes of a case, by the pure method and over a store.
func answer(m *spec.Machine, c world.Case) string {
	told := ""
	if c.Record.State != nil || len(c.Call.Op.Creates) > 0 {
		d, refusal := interp.Decide(m, c.Record, c.Call, c.Others)
		told = fmt.Sprint(refusal, d.Guard, d.RecordOnly, shown(d.From, d.Record), c.Call.Op.StoredEvent())
	}
	if c.NoStore || c.Trigger {
		return told
	}
	w := interp.World{}
	for _, r := range c.Beside {
		w = w.With(r)
	}
	call := c.Call
	if len(call.Op.Creates) > 0 || c.Record.State != nil {
		call.ID = c.Record.ID
	}
	if c.Record.State != nil {
		w = w.With(c.Record)
		call.ExpectedRev = 1
	}
	if call.Op.By != spec.BySystem && m.RequestID != spec.None {
		call.RequestID = "request-1"
	}
	out, w, refusal := interp.Step(m, w, call)
	told += fmt.Sprint(refusal, out.RecordOnly, out.Existing, shown(nil, out.Record))
	for _, e := range out.Events {
		for _, x := range e.Asks {
			told += x.Name
		}
	}
	for len(w.Outbox) > 0 && refusal == nil {
		d := w.Outbox[0]
		told += d.Effect.Name + d.Key
		if name, problem, _ := strings.Cut(c.GivesUp, ": "); name == d.Effect.Name {
			c.GivesUp = ""
			if d.Effect.Failed == nil || c.Tries > 0 && d.Effect.Attempts != c.Tries {
				return told + " is tried again"
			}
			out, w, refusal = interp.GiveUp(m, w, d, problem, call.At)
		} else {
			out, w, refusal = interp.Deliver(m, w, d, call.At)
		}
		told += fmt.Sprint(refusal, shown(nil, out.Record))
	}
	for _, e := range w.Log {
		told += fmt.Sprint("\n", e.Rev, e.N, e.Op.Name, e.Op.StoredEvent(), shown(e.From, interp.Record{State: e.To}))
	}
	return told
}

// shown is a record in a form that does not depend on the machine that it is of.
func shown(from *spec.State, r interp.Record) string {
	name := func(s *spec.State) string {
		if s == nil {
			return "none"
		}
		return s.Name
	}
	return fmt.Sprint(" ", name(from), " > ", name(r.State), " ", r.ID, r.Rev, r.CreatedAt, r.UpdatedAt, r.Fields, " ")
}

// checked tells which rules each record of a state breaks.
func checked(k *world.Cases, s *spec.State) string {
	told := ""
	for _, r := range slices.Concat(k.Sound(s), k.Broken(s)) {
		told += fmt.Sprint(r.Fields, texts(interp.Check(k.M, r)))
	}
	return told
}

// asksOtherwise compares what is not looked at here: when triggers are due, what stores
// are asked about others, and the order of a pick. That the generated tests notice every
// such change is measured on the generated code itself, by `make mutation`.
func asksOtherwise(original, m *spec.Machine) bool {
	asks := func(m *spec.Machine) (list []string) {
		for _, o := range m.Operations {
			for _, t := range o.Triggers {
				field, by := "", ""
				if t.After != nil {
					field = t.After.Name
				}
				if t.By != nil {
					by = t.By.Name
				}
				list = append(list, fmt.Sprint(o.Name, t.Startup, field, t.Plus, by))
			}
			for _, r := range o.Require {
				if p := r.Guard.Peers; p != nil {
					for _, s := range p.In {
						list = append(list, o.Name+r.Guard.Name+s.State.Name)
					}
				}
			}
			if o.Next != nil {
				for _, x := range o.Next.Order {
					list = append(list, fmt.Sprint(o.Name, x.Field.Name, x.Descending))
				}
			}
		}
		return list
	}
	return !slices.Equal(asks(original), asks(m))
}

// texts writes violations: those of two machines share no pointer.
func texts(list []interp.Violation) []string {
	var all []string
	for _, v := range list {
		all = append(all, v.Rule)
	}
	return all
}

// projectsOtherwise compares the projections over every group of up to seven
// records, as the generated tests do, and the moves of the derived machine.
func projectsOtherwise(original, m *spec.Machine) bool {
	if original.Projection == nil {
		return false
	}
	leads := func(m *spec.Machine) (list []string) {
		for _, x := range m.Projection.Transitions {
			list = append(list, x.From.Name+" > "+x.To.Name)
		}
		return list
	}
	if !slices.Equal(leads(original), leads(m)) {
		return true
	}
	var differ func(group []int, first int) bool
	differ = func(group []int, first int) bool {
		of := func(m *spec.Machine) string {
			var records []interp.Record
			for _, i := range group {
				r := interp.NewRecord(m, "r")
				r.State = m.States[i]
				records = append(records, r)
			}
			return interp.ProjectGroup(m, records).State
		}
		if of(original) != of(m) {
			return true
		}
		for i := first; i < len(m.States) && len(group) < 7; i++ {
			if differ(append(slices.Clone(group), i), i) {
				return true
			}
		}
		return false
	}
	return differ(nil, 0)
}
