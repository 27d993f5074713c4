package brute

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

var machines = flag.Int("machines", 0, "how many random machines are judged")

// domain lists the values that are tried of a type.
func domain(w *world, t spec.Type, far bool) []value {
	var list []value
	if t.Optional {
		list = append(list, value{})
	}
	put := func(numbers ...int64) {
		for _, n := range numbers {
			if v := of(n); w.fits(t, v) {
				list = append(list, v)
			}
		}
	}
	switch t.Kind {
	case spec.KindInt:
		if far {
			put(math.MinInt64, -limit, -limit+1, 0, 1, limit-1, limit, math.MaxInt64)
		} else {
			put(-2, -1, 0, 1, 2, 3, 4)
		}
	case spec.KindCounter:
		put(0, 1, 2, 3, 4)
	case spec.KindDuration:
		put(0, 500_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000)
	case spec.KindTime:
		for _, d := range []int64{-2_000_000, -1_000_000, 0, 500_000, 1_000_000} {
			put(w.now + d)
		}
	case spec.KindBool:
		put(0, 1)
	case spec.KindEnum:
		for _, v := range t.Values {
			list = append(list, word(v))
		}
	case spec.KindString:
		for i := range w.texts {
			put(int64(i))
		}
	case spec.KindSet:
		put(0, 1, 2, 3) // of the first two texts
	}
	return list
}

// every hands over all combinations of some lists.
func every(lists [][]value, do func([]value)) {
	if slices.ContainsFunc(lists, func(l []value) bool { return len(l) == 0 }) {
		return
	}
	at, now := make([]int, len(lists)), make([]value, len(lists))
	for i, l := range lists {
		now[i] = l[0]
	}
	for {
		do(now)
		i := 0
		for ; i < len(at); i++ {
			if at[i]++; at[i] < len(lists[i]) {
				now[i] = lists[i][at[i]]
				break
			}
			at[i], now[i] = 0, lists[i][0]
		}
		if i == len(at) {
			return
		}
	}
}

// wrong says of a step what is wrong with it: the operation, from where, to where and what.
type wrong struct {
	op, from, to string
	fault        Fault
}

// judged lists all that is wrong with a machine in its domain, and counts the steps that were tried.
func judged(m *spec.Machine, far bool) (found map[wrong]bool, steps int) {
	w := &world{m: m, texts: []string{"a", "b", "bb", "c"}, now: noon.UnixMicro()}
	found = map[wrong]bool{}
	var fields [][]value
	for _, f := range m.Fields {
		fields = append(fields, domain(w, f.Type, far))
	}
	records := map[*spec.State][][]value{nil: {w.blank()}}
	every(fields, func(r []value) {
		for _, s := range m.States {
			if w.promises(s, r) {
				records[s] = append(records[s], slices.Clone(r))
			}
		}
	})
	for _, op := range m.Operations {
		var inputs [][]value
		for _, in := range op.Inputs {
			inputs = append(inputs, domain(w, in.Type, far))
		}
		inputs = append(inputs, []value{of(0), of(1)}) // who calls
		sources := []*spec.State{nil}
		if len(op.Creates) == 0 {
			sources = nil
			for _, r := range op.From {
				sources = append(sources, r.State)
			}
		}
		every(inputs, func(in []value) {
			c := &call{op: op, inputs: in[:len(in)-1], actor: in[len(in)-1]}
			if !w.accepted(c) {
				return
			}
			for _, from := range sources {
				for _, r := range records[from] {
					c.old = r
					steps++
					to, fault := w.step(c, from)
					if fault == None || fault == Refused {
						continue
					}
					key := wrong{op: op.Name, fault: fault}
					if from != nil {
						key.from = from.Name
					}
					if to != nil && fault == Leaves {
						key.to = to.Name
					}
					found[key] = true
				}
			}
		})
	}
	return found, steps
}

// claim is what a finding of the proof says.
type claim struct {
	op, to string
	from   []string
	f      prove.Finding
}

func claims(m *spec.Machine) []claim {
	var list []claim
	for _, f := range prove.Machine(m).Findings {
		switch f.Code {
		case "FSM203", "FSM301", "FSM302", "FSM304", "FSM305", "FSM306":
		default:
			continue
		}
		c := claim{f: f}
		op, rest, _ := strings.Cut(f.Message, ": ")
		c.op = op
		if way, _, ok := strings.Cut(rest, " can leave "); ok {
			from, to, _ := strings.Cut(way, " -> ")
			c.from, c.to = strings.Split(from, ", "), to
		} else if way, _, ok := strings.Cut(rest, " may leave "); ok {
			from, to, _ := strings.Cut(way, " -> ")
			c.from, c.to = strings.Split(from, ", "), to
		}
		list = append(list, c)
	}
	return list
}

// told reports whether a claim speaks of what is wrong. Where a value is taken from what is
// absent, or no branch takes the record, all else of the operation stands behind it.
func (c claim) told(x wrong) bool {
	if c.f.Code == "FSM306" && x.fault == Leaves { // a rule that every step breaks
		return true
	}
	if c.op != x.op {
		return false
	}
	switch x.fault {
	case Absent:
		return c.f.Code == "FSM304"
	case NoWay:
		return c.f.Code == "FSM203" || c.f.Code == "FSM304" || c.f.Code == "FSM302"
	}
	from := x.from
	if from == "" {
		from = "(new)"
	}
	return c.f.Code == "FSM304" || c.f.Code == "FSM203" || slices.Contains(c.from, from) && c.to == x.to
}

// happens reports whether the example of a finding goes wrong.
func happens(m *spec.Machine, e *prove.Example) bool {
	w := &world{m: m, texts: []string{"a", "b", "bb", "c"}, now: e.Now.UnixMicro()}
	note := func(d prove.Datum) {
		if d.Present && d.Kind == spec.KindString {
			w.texts = append(w.texts, d.Text)
		}
		w.texts = append(w.texts, d.Members...)
	}
	for _, d := range e.Before {
		note(d)
	}
	for _, d := range e.Inputs {
		note(d)
	}
	if e.Actor != "" {
		w.texts = append(w.texts, e.Actor)
	}
	slices.Sort(w.texts)
	w.texts = slices.Compact(w.texts)
	read := func(d prove.Datum) value {
		switch {
		case d.Kind == spec.KindSet:
			v := of(0)
			for _, member := range d.Members {
				v.n |= 1 << w.text(member).n
			}
			return v
		case !d.Present:
			return value{}
		case d.Kind == spec.KindString:
			return w.text(d.Text)
		case d.Kind == spec.KindEnum:
			return word(&spec.EnumValue{Name: d.Text})
		case d.Kind == spec.KindTime:
			return of(d.Time.UnixMicro())
		}
		return of(d.Num)
	}
	c := &call{op: e.Op, old: w.blank(), actor: of(0)}
	if e.Actor != "" {
		c.actor = w.text(e.Actor)
	}
	if e.From != nil {
		for i, f := range m.Fields {
			c.old[i] = read(e.Before[f])
		}
		if !w.promises(e.From, c.old) {
			return false
		}
	}
	for _, in := range e.Op.Inputs {
		c.inputs = append(c.inputs, read(e.Inputs[in]))
	}
	_, fault := w.step(c, e.From)
	return w.accepted(c) && fault != None && fault != Refused
}

// shown writes all of an example.
func shown(m *spec.Machine, e *prove.Example) string {
	text := fmt.Sprintf("actor=%q", e.Actor)
	for _, f := range m.Fields {
		text += fmt.Sprintf(" %s=%+v", f.Name, e.Before[f])
	}
	for _, in := range e.Op.Inputs {
		text += fmt.Sprintf(" input.%s=%+v", in.Name, e.Inputs[in])
	}
	return strings.ReplaceAll(text, " Time:0001-01-01 00:00:00 +0000 UTC", "") + "\n"
}

// The proof misses nothing that is wrong in a small domain, and what it finds is so: an example
// goes wrong here, too.
func TestTheProofMissesNothing(t *testing.T) {
	t.Parallel()
	n := *machines
	switch {
	case n > 0:
	case campaign.On():
		n = 5000
	default:
		n = 300
	}
	var sum struct {
		sync.Mutex
		steps, wrong, claims, undecided, untold, unreal, sound, refused int
	}
	for part := range 2 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < n; seed += 2 {
				src, far := Machine(rand.New(rand.NewPCG(uint64(seed), 11)))
				m, diags := spec.Parse("brute.yaml", []byte(src))
				if diags.HasErrors() { // such as a fact of constants
					t.Logf("seed %d: %v", seed, diags)
					sum.Lock()
					sum.refused++
					sum.Unlock()
					continue
				}
				found, steps := judged(m, far)
				list := claims(m)
				sum.Lock()
				sum.steps, sum.wrong, sum.claims = sum.steps+steps, sum.wrong+len(found), sum.claims+len(list)
				if len(found) == 0 {
					sum.sound++
				}
				for _, c := range list {
					switch {
					case strings.Contains(c.f.Message, " may leave "):
						sum.undecided++
					case c.f.Code == "FSM306":
					case c.f.Example == nil:
						sum.untold++
					case !happens(m, c.f.Example):
						// Between two texts of one length the proof sees more texts than there are.
						sum.unreal++
						t.Logf("seed %d: %s %s: its example does not go wrong\n%s%s", seed, c.f.Code, c.f.Message, shown(m, c.f.Example), src)
					}
				}
				sum.Unlock()
				for x := range found {
					if !slices.ContainsFunc(list, func(c claim) bool { return c.told(x) }) {
						t.Errorf("seed %d: the proof misses %+v\n%s", seed, x, src)
					}
				}
				if t.Failed() {
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		t.Logf("%d machines, of which %d were not read, %d of them without a fault in the domain: %d steps tried, %d faults; %d findings, of which %d were not decided, %d without an example, %d with a false one",
			n, sum.refused, sum.sound, sum.steps, sum.wrong, sum.claims, sum.undecided, sum.untold, sum.unreal)
		if 100*sum.unreal > max(sum.claims, 100) {
			t.Errorf("%d of %d examples do not go wrong", sum.unreal, sum.claims)
		}
		if 500*sum.undecided > max(sum.claims, 500) { // of back-offs between fields, that grow often
			t.Errorf("%d of %d findings are not decided", sum.undecided, sum.claims)
		}
		if !t.Failed() && (sum.wrong < n/4 || sum.claims < n/4 || sum.sound < n/20 || sum.refused > n/4) {
			t.Errorf("the machines are too tame, or too wild")
		}
	})
}
