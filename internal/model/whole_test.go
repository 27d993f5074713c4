package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/spec"
)

// anything draws inputs of an operation, whatever the search would try.
func anything(m *spec.Machine, op *spec.Operation, now time.Time, rnd *rand.Rand) map[string]interp.Value {
	list := map[string]interp.Value{}
	for _, in := range op.Inputs {
		if in.Type.Optional && rnd.IntN(3) == 0 {
			continue
		}
		switch in.Type.Kind {
		case spec.KindInt, spec.KindCounter:
			list[in.Name] = interp.Int(rnd.Int64N(12) - 2)
		case spec.KindString:
			list[in.Name] = interp.String(in.Type.Fitted(fmt.Sprint("w", rnd.IntN(5))))
		case spec.KindBool:
			list[in.Name] = interp.Bool(rnd.IntN(2) == 0)
		case spec.KindEnum:
			list[in.Name] = interp.Word(in.Type.Values[rnd.IntN(len(in.Type.Values))].Name)
		case spec.KindTime:
			list[in.Name] = interp.Time(now.Add(time.Duration(rnd.IntN(9)-4) * 40 * time.Hour))
		case spec.KindSet:
			list[in.Name] = interp.Set(slices.Repeat([]string{fmt.Sprint("w", rnd.IntN(5))}, rnd.IntN(2))...)
		default:
			list[in.Name] = interp.JSON(fmt.Sprint(rnd.IntN(5)))
		}
	}
	return list
}

// drawn writes a machine of a few fields and steps, whose guards and branches ask for
// things that may never be so.
func drawn(rnd *rand.Rand) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	one := func(list ...string) string { return list[rnd.IntN(len(list))] }
	low := rnd.IntN(4)
	line("fsm: 1\nmachine: d\nentity: D\nrequests: {request_id: none, expected_rev: none}\notherwise: reject\nfields:")
	line("  n: int %d..%d\n  k: optional int\n  a: string\n  b: optional string\n  c: "+one("optional string",
		"optional string 2..2", "optional string 3..9", "optional string 1..1"), low, low+1+rnd.IntN(6))
	line("  flag: bool\n  word: optional red|green|blue\n  due: optional time\n  at: optional time")
	line("  tries: {type: counter, changed_by: [o0, o1, o2, o3, count]}")
	line("states:\n  s0: {}\n  s1: {}\n  s2: {}\n  end: {terminal: true}\nguards:")
	// A hard machine asks for more than the search can be sure of.
	hard := rnd.IntN(2) == 0
	pick := func(easy, more []string) string {
		if hard {
			easy = slices.Concat(easy, more)
		}
		return easy[rnd.IntN(len(easy))]
	}
	fact := func() string {
		switch rnd.IntN(9) {
		case 0, 1, 2:
			return fmt.Sprintf("%s %s %d", one("n", "k"), one("<", "<=", "==", "!=", ">", ">="), rnd.IntN(9))
		case 3:
			return pick([]string{"a == actor", "a != actor"}, []string{"a == b", "b != c", "b == actor"})
		case 4, 5:
			return "flag == " + one("true", "false")
		case 6:
			return fmt.Sprintf("word %s %s", one("==", "!="), one("red", "green", "blue"))
		case 7:
			return pick([]string{"due <= now", "due > now"}, []string{"at < now", "at >= now", "n < k", "due < at", "k == n", "tries >= 2"})
		}
		return one("b", "c", "k", "word", "due") + one(" is present", " is absent")
	}
	facts := func() string {
		list := []string{fact()}
		if more := fact(); rnd.IntN(2) == 0 && more != list[0] {
			list = append(list, more)
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	for i := range 4 {
		line("  g%d: {when: %s, error: e%d}", i, facts(), i)
	}
	// What the fields are set to is of one kind for each machine, so that little of it varies.
	values := map[string]string{
		"n": one("input", fmt.Sprint(low)), "k": one("input or absent", "2", "7"), "a": pick([]string{"actor"}, []string{"input", "input"}),
		"b": pick([]string{"input"}, []string{"actor", "a"}), "c": one("input or absent", "input"), "flag": one("true", "false", "input"),
		"word": one("red", "input", "green"), "due": pick([]string{"now + 1h"}, []string{"input", "now"}),
		"at": pick([]string{"now + 2h"}, []string{"input or absent"}),
	}
	sets := func(names ...string) string {
		var list []string
		for _, f := range names {
			if rnd.IntN(3) == 0 {
				list = append(list, f+": "+values[f])
			}
		}
		return strings.Join(list, ", ")
	}
	rest := strings.Replace(sets("b", "c", "k", "word", "due", "at")+",", "b: a,", "b: input,", 1)
	line("operations:\n  make: {creates: s0, set: {n: %s, a: %s, flag: %s%s}}",
		values["n"], values["a"], values["flag"], strings.TrimRight(", "+rest, ", "))
	for i := range 4 {
		line("  o%d:\n    from: [s%d, s%d]\n    require: [g%d]", i, i%3, (i+1+rnd.IntN(2))%3, i)
		if set := sets("n", "b", "c", "k", "flag", "word", "due", "at"); set != "" {
			line("    set: {%s}", set)
		}
		if hard && rnd.IntN(3) == 0 {
			line("    increment: [tries]")
		}
		if rnd.IntN(2) == 0 {
			line("    choose:\n      - {when: %s, to: s%d}\n      - {to: %s}", facts(), rnd.IntN(3), one("same", "end", "s1"))
		} else {
			line("    to: %s", one("same", "s1", "s2"))
		}
	}
	line("  count: {from: s2, to: end, increment: [tries]}\n  stop: {from: [s0, s1, s2], to: end}")
	return b.String()
}

// What cannot happen does not happen in the interpreter's world, whatever anybody calls
// with any inputs. It is said of many machines.
func TestNeverIsTrue(t *testing.T) {
	t.Parallel()
	machines, walks := 80, uint64(2)
	if campaign.On() {
		machines, walks = 1500, 8
	}
	rnd := rand.New(rand.NewPCG(36, 803))
	whole, never, steps := 0, 0, 0
	for i := 0; i < machines; {
		src := drawn(rnd)
		m, found := spec.Parse("drawn.yaml", []byte(src))
		if m == nil || found.HasErrors() {
			continue // it says one thing twice
		}
		i++
		r := Check(m, Options{MaxStates: 50_000})
		if !r.Whole {
			continue
		}
		whole++
		never += len(r.Never(m))
		o := r.Options
		o.Counter, o.Records = 1<<20, 12 // alone as among others
		for seed := range walks {
			steps += happens(t, src, m, o, names(r.Missing), seed, true)
		}
	}
	t.Logf("%d whole, %d never, %d steps", whole, never, steps)
	if whole < machines/3 || never < machines || steps < 10*machines {
		t.Errorf("%d machines, %d searched as a whole, %d that never happens, %d steps: want more", machines, whole, never, steps)
	}
}

// What waits in vain is found, and nothing where somebody can still let it succeed.
func TestWaitsInVain(t *testing.T) {
	t.Parallel()
	for bits := range 1 << 7 {
		has := func(n int) bool { return bits>>n&1 != 0 }
		var b strings.Builder
		line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
		if1 := func(is bool, text string) string {
			if is {
				return text
			}
			return ""
		}
		giveUp, grant, moves := has(0), has(1), has(2) // of a deadline
		asks, kept, paid := has(3), has(4), has(5)     // of a step after an effect
		crowd := has(6)
		tries := 1 + bits%2
		line("fsm: 1\nmachine: w\nentity: W\nrequests: {request_id: none, expected_rev: none}\notherwise: reject\nfields:")
		line("  tries: {type: counter, changed_by: [take]}\n  until: optional time\n  free: bool\n  lane: string")
		line("states:\n  queued: {}\n  running: {present: [until]}\n  sending: {}\n  done: {terminal: true}\nguards:")
		line("  again: {when: %s, error: no_more}", map[bool]string{true: "free == true", false: fmt.Sprintf("tries < %d", tries+1)}[grant])
		line("  first: {none: {same: lane, in: [done]}, error: taken}\n  is_free: {when: free == true, error: not_free}\noperations:")
		line("  add: {creates: queued, set: {free: %s, lane: input}}", map[bool]string{true: "true", false: "false"}[paid && !grant])
		line("  take: {from: queued, to: running, set: {until: now + 1h}, increment: [tries]}")
		line("  lapse: {by: system, from: running, to: queued, trigger: [after until], require: [again], clear: [until]}")
		line("  finish: {from: running, to: sending, clear: [until], effect: {name: mail, then: sent}}")
		requires := if1(asks || crowd, ", require: ["+if1(asks, "is_free")+if1(asks && crowd, ", ")+if1(crowd, "first")+"]")
		line("  sent: {by: system, from: sending, to: done%s%s}", requires, if1(kept, ", on_refusal: record_only"))
		where := map[bool]string{true: "queued, clear: [until]", false: "same"}[moves]
		line("%s", if1(giveUp, "  give_up: {by: system, from: running, to: done, trigger: [after until], clear: [until]}\n")+
			if1(grant, "  grant: {from: running, to: "+where+", set: {free: true}}\n"))
		m, found := spec.Parse("w.yaml", []byte(b.String()))
		if m == nil || found.HasErrors() {
			t.Fatalf("%v\n%s", found, b.String())
		}
		var want []string
		if !giveUp && (!grant || moves) {
			want = append(want, "lapse")
		}
		if !kept && (asks && !paid || asks && grant || crowd) {
			want = append(want, "finish")
		}
		var got []string
		for _, x := range Check(m, Options{Records: 2}).Stuck {
			got = append(got, x.On)
			if n := len(x.Trace); n == 0 || n > 12 {
				t.Errorf("%d steps to %s", n, x.What)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("waits in vain: %q, want %q\n%s", got, want, b.String())
		}
	}
}

// What happens with the right values alone is not said to never happen, however few
// values are tried.
func TestNotSure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ fields, make, guard, op string }{
		{"a: string, b: string, c: string", "set: {a: input, b: input, c: input}", "[a != b, b != c, a != c]", "to: end"},
		{"a: string, b: string", "set: {a: actor, b: input}", "[a != actor, b != actor, a != b]", "to: end"},
		{"a: {type: string, default: red}", "set: {}", "a == input.q", "to: end, input: {q: string}"},
		{"n: int, k: int, l: int", "set: {n: input, k: input, l: input}", "[n < k, k < l]", "to: end"},
		{"due: time, at: time", "set: {due: input, at: now + 1h}", "[due > at, due < now]", "to: end"},
		{"due: time", "set: {due: now}", "[due >= now]", "to: end"},
		{"due: time", "set: {due: now + 1h}", "[due == now]", "to: end"},
		{"due: time", "set: {due: now + 1h}", "[due <= now, due >= now]", "to: end"},
		{"due: optional time", "set: {}", "due is absent",
			"input: {s: time}, set: {due: input.s}, choose: [{when: due <= now, to: end}, {to: same}]"},
		{"m: set", "set: {}", "[input.a in m, input.b in m, input.c in m, input.a != input.b, input.b != input.c, input.a != input.c]",
			"to: end, input: {a: string, b: string, c: string}"},
		{"lane: string, n: {type: sequence, per: lane}", "set: {lane: input}", "n > 3", "to: end"},
		{"n: int 0..5", "set: {n: input}", "n < 10", "to: end"},
		{"n: int 20..30", "set: {n: input}", "n > 10", "to: end"},
	} {
		src := "fsm: 1\nmachine: n\nentity: N\nrequests: {request_id: none, expected_rev: none}\notherwise: reject\n" +
			"fields: {" + tt.fields + "}\n" +
			"states: {s: {}, end: {terminal: true}}\nguards:\n  g: {when: " + tt.guard +
			", error: e}\noperations:\n  make: {creates: s, " + tt.make + "}\n" +
			"  o: {from: s, require: [g], " + tt.op + "}\n  stop: {from: s, to: end}\n"
		if strings.Contains(tt.fields, "m: set") {
			src += "  add: {from: s, to: same, input: {x: string}, add: {m: input.x}}\n"
		}
		m, found := spec.Parse("n.yaml", []byte(src))
		if m == nil || found.HasErrors() {
			t.Fatalf("%v\n%s", found, src)
		}
		for _, x := range Check(m, Options{}).Never(m) {
			if strings.HasPrefix(x.Message, "operation o ") || strings.HasPrefix(x.Message, "branch 1 ") {
				t.Errorf("%s\n%s", x.Message, src)
			}
		}
	}
}
