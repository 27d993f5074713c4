package export

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// event is one call as an SCXML interpreter gets it, and what the machine is
// afterwards.
type event struct {
	Name   string         `json:"name"`
	Data   map[string]any `json:"data"`
	State  string         `json:"state"`
	Fields map[string]any `json:"fields"`
}

// TestWalks walks through every machine with the interpreter of the language,
// at random, and sees every operation and every state on the way. With
// FSMGEN_EXPORTS it writes the walks and the exports of each machine there:
// `make exports-check` has programs of the formats take the same walks.
func TestWalks(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("FSMGEN_EXPORTS")
	ms := shipped(t)
	files, err := filepath.Glob("../../examples/machines/*.yaml")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d specifications, expected nine: %v", len(files), err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, found := spec.Parse(f, src)
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		ms[m.Name] = m
	}
	for name, m := range ms {
		w := &walker{m: m, seen: map[string]bool{}, tried: map[[2]string]int{}}
		var walks [][]event
		for seed := range uint64(400) {
			if len(w.tame()) == 0 && (dir == "" || seed >= 60) {
				break
			}
			w.Rand = rand.New(rand.NewPCG(seed, 7))
			known := len(w.seen)
			if way := w.walk(); seed < 60 || len(w.seen) > known {
				walks = append(walks, way)
			}
		}
		if missing := w.tame(); len(missing) > 0 {
			t.Errorf("%s: no walk sees %q", name, missing)
		}
		if dir == "" {
			continue
		}
		x, err := XState(m)
		if err != nil {
			t.Fatal(err)
		}
		c, err := CSV(m)
		if err != nil {
			t.Fatal(err)
		}
		ws, err := json.Marshal(walks)
		if err != nil {
			t.Fatal(err)
		}
		for ext, data := range map[string][]byte{".xstate.json": x, ".csv": c, ".scxml": SCXML(m), ".walks.json": ws} {
			if err := os.WriteFile(filepath.Join(dir, name+ext), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// walker walks through a machine.
type walker struct {
	*rand.Rand
	m     *spec.Machine
	seen  map[string]bool   // operations that were taken, states, and moves
	tried map[[2]string]int // how often an operation was called in a state
	now   time.Time
}

// tame lists the states and operations that no walk has seen.
func (w *walker) tame() []string {
	var missing []string
	for _, s := range w.m.States {
		if !w.seen["state "+s.Name] {
			missing = append(missing, "state "+s.Name)
		}
	}
	for _, o := range w.m.Operations {
		if !w.seen[o.Name] {
			missing = append(missing, o.Name)
		}
	}
	return missing
}

// walk makes one record and calls operations on it, mostly such as its state
// takes. What the language refuses for a reason that no chart has is left out:
// inputs that are not of their type, broken invariants, a refused `then`.
func (w *walker) walk() []event {
	var events []event
	r := interp.NewRecord(w.m, "a")
	w.now = time.UnixMilli(1_700_000_000_000)
	for range 40 {
		c, others := w.call(r)
		after, ok := w.step(r, c, others)
		if !ok {
			continue
		}
		r = after
		events = append(events, event{Name: c.Op.Name, Data: w.data(c, others), State: nameOf(r.State), Fields: w.fields(r)})
		w.seen["state "+nameOf(r.State)] = true
	}
	return events
}

func nameOf(s *spec.State) string {
	if s == nil {
		return "_new"
	}
	return s.Name
}

// step is what a call and all that follows it do; ok is false where it says nothing
// about a chart.
func (w *walker) step(r interp.Record, c interp.Call, others interp.Others) (after interp.Record, ok bool) {
	if (r.State == nil) != (len(c.Op.Creates) > 0) { // a chart has one record, which is made once
		return r, r.State != nil
	}
	d, refusal := interp.Decide(w.m, r, c, others)
	switch {
	case refusal == nil:
	case refusal.Code == interp.CodeGuard, refusal.Code == interp.CodeWrongState, refusal.Code == interp.CodeTerminal:
		return r, true
	default:
		return r, false
	}
	w.seen[c.Op.Name] = true
	w.seen[nameOf(r.State)+" "+c.Op.Name+" "+nameOf(d.To)] = true
	if d.Then == nil || d.Effect != nil && !d.Effect.Atomic { // else it follows the delivery, which is an event of its own
		return d.Record, true
	}
	follow := interp.Call{Op: d.Then, ID: c.ID, Actor: "system", At: c.At, Inputs: map[string]interp.Value{}}
	before := w.seen[d.Then.Name]
	after, ok = w.step(d.Record, follow, others)
	if ok && after.State == d.Record.State && after.Equal(d.Record) { // refused: the whole call is
		w.seen[d.Then.Name] = before
		return r, false
	}
	return after, ok
}

// call draws one. A guard that counts other records is open or not.
func (w *walker) call(r interp.Record) (interp.Call, interp.Others) {
	var likely, all []*spec.Operation
	for _, o := range w.m.Operations {
		if (r.State == nil) == (len(o.Creates) > 0) && (r.State == nil || w.m.Class(r.State, o) != spec.Reject) {
			likely = append(likely, o)
		}
		all = append(all, o)
	}
	if len(likely) > 0 && w.IntN(8) > 0 {
		all = likely
	}
	op := all[w.IntN(len(all))]
	cell := func(o *spec.Operation) [2]string { return [2]string{nameOf(r.State), o.Name} }
	if w.IntN(4) > 0 { // else one that was tried least, so that no end comes too early
		op = slices.MinFunc(all, func(a, b *spec.Operation) int { return w.tried[cell(a)] - w.tried[cell(b)] })
	}
	w.tried[cell(op)]++
	w.now = w.now.Add(time.Duration(1+w.IntN(90_000)) * time.Millisecond)
	if w.IntN(6) == 0 {
		w.now = w.now.Add(time.Duration(w.IntN(40*24)) * time.Hour)
	}
	c := interp.Call{
		Op: op, ID: "a", Actor: w.word(), Reason: "because", At: w.now,
		RequestID: "r", Inputs: map[string]interp.Value{},
	}
	for _, i := range c.Op.Inputs {
		if i.Type.Optional && w.IntN(3) == 0 {
			continue
		}
		c.Inputs[i.Name] = w.value(i.Type)
	}
	others := interp.Others{Count: map[string]int64{}, Next: map[string]int64{}}
	for _, f := range w.m.Fields {
		others.Next[f.Name] = 1
	}
	for _, g := range w.m.Guards {
		if g.Peers != nil && w.IntN(4) == 0 {
			others.Count[g.Name] = g.Peers.Than
		}
	}
	return c, others
}

func (w *walker) word() string { return []string{"x", "y", "z"}[w.IntN(3)] }

func (w *walker) value(t spec.Type) interp.Value {
	switch t.Kind {
	case spec.KindBool:
		return interp.Bool(w.IntN(2) == 0)
	case spec.KindTime:
		return interp.Time(w.now.Add(time.Duration(w.IntN(400)-100) * time.Second))
	case spec.KindJSON:
		return interp.JSON(`"` + w.word() + `"`)
	case spec.KindSet:
		return interp.Set([]string{"x", "y", "z"}[:w.IntN(4)]...)
	case spec.KindEnum:
		return interp.Word(t.Values[w.IntN(len(t.Values))].Name)
	case spec.KindString:
		return interp.String(w.word())
	}
	n := int64(max(0, w.IntN(6)-3))
	if w.IntN(8) == 0 {
		n = int64(w.IntN(1000))
	}
	if t.Min != nil {
		n += *t.Min
	}
	if t.Max != nil {
		n = min(n, *t.Max)
	}
	return interp.Int(n)
}

// data is what the event carries, as SCXML says it.
func (w *walker) data(c interp.Call, others interp.Others) map[string]any {
	accepted, refusal := interp.Accept(w.m, c)
	if refusal == nil { // a required number that is missing is 0
		c = accepted
	}
	peers := map[string]bool{}
	for _, g := range w.m.Guards {
		if g.Peers != nil {
			peers[g.Name] = others.Count[g.Name] < g.Peers.Than
		}
	}
	d := map[string]any{"actor": c.Actor, "now": c.At.UnixMilli(), "peers": peers}
	for name, v := range c.Inputs {
		d[name] = plain(v)
	}
	return d
}

// fields are those that a chart keeps: numbers of a sequence are the store's.
func (w *walker) fields(r interp.Record) map[string]any {
	all := map[string]any{}
	for i, f := range w.m.Fields {
		if f.Type.Kind != spec.KindSequence {
			all[f.Name] = plain(r.Fields[i])
		}
	}
	return all
}

func plain(v interp.Value) any {
	switch v.Kind {
	case interp.KindAbsent:
		return nil
	case interp.KindInt:
		return v.Num
	case interp.KindBool:
		return v.Num != 0
	case interp.KindTime:
		return v.AsTime().UnixMilli()
	case interp.KindSet:
		return append([]string{}, v.Members()...)
	case interp.KindString, interp.KindWord, interp.KindJSON:
		return v.Text
	}
	panic(fmt.Sprintf("a value of kind %v", v.Kind))
}
