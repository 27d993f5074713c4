package oracle

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A machine that uses every kind of field, fact and effect.
var demo = Table{
	Machine: "demo", RequestID: "required", ExpectedRev: "required",
	Matrix: `
        | (new)   | open    | closed
make    | -> open | .       | .
change  | .       | choose  | record only
finish  | .       | -> closed | refused
`,
	Fields: []Field{
		{Name: "owner", Type: "optional string"},
		{Name: "level", Type: "int 0..9"},
		{Name: "tries", Type: "counter"},
		{Name: "until", Type: "optional time"},
		{Name: "kind", Type: "big|small", Words: "large|small"},
		{Name: "want", Type: "set"},
		{Name: "have", Type: "set"},
		{Name: "done", Type: "bool"},
	},
	States: []State{
		{Name: "open", Invariant: []string{"tries >= 1"}},
		{Name: "closed", Terminal: true, Present: "have", ShouldAbsent: "owner"},
	},
	Guards: []Guard{
		{Name: "mine", When: []string{"owner == actor"}, Error: "not_mine"},
		{Name: "live", When: []string{"now < until"}, Error: "over"},
		{Name: "alone", Fewer: 2, Same: "owner", In: "open", Error: "crowded"},
	},
	Operations: []Operation{
		{Name: "make", Inputs: []Input{{Name: "level", Type: "int"}}, Set: []string{"level: input", "kind: big", "owner: actor"}, Increment: "tries"},
		{
			Name: "change", Inputs: []Input{{Name: "item", Type: "string"}, {Name: "until", Type: "optional time"}},
			Require: "mine, live, alone",
			Set:     []string{"until: input or same", "done: true"}, Add: []string{"have: input.item"},
			Choose: []Branch{
				{When: []string{"have covers want", "kind == big"}, To: "closed", Clear: "owner"},
				{When: []string{"input.item not in want"}, Reject: "unwanted"},
				{To: "same", Increment: "tries"},
			},
		},
		{Name: "finish", By: "operator", Clear: "owner"},
	},
}

func demoRow(m *Model, set map[string]any) driver.Row {
	r := m.BaseRow(m.StateByName["open"])
	values := map[string]any{
		"owner": theActor, "level": int64(3), "tries": int64(1), "until": TheNow.Add(Microsecond), "kind": "large",
		"want": SetOf("a", "b"), "have": SetOf("a"), "done": false,
	}
	for name, v := range set {
		values[name] = v
	}
	for name, v := range values {
		r.Values[m.FieldByName[name].Index] = v
	}
	return r
}

func TestDecide(t *testing.T) {
	t.Parallel()
	m, err := Compile(demo)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		set    map[string]any
		inputs map[string]any
		change func(*Call)
		want   string
	}{
		{"the last item closes", nil, map[string]any{"item": "b"}, nil, "branch 1"},
		{"a wanted one that is there already stays", nil, map[string]any{"item": "a"}, nil, "branch 3"},
		{"an unwanted one is refused", nil, map[string]any{"item": "z"}, nil, "branch 2"},
		{"a small one stays open", map[string]any{"kind": "small"}, map[string]any{"item": "b"}, nil, "branch 3"},
		{"at the instant it is over", map[string]any{"until": TheNow}, map[string]any{"item": "b"}, nil, "guard live"},
		{"absent compares as false", map[string]any{"until": nil}, map[string]any{"item": "b"}, nil, "guard live"},
		{"an absent owner is nobody", map[string]any{"owner": nil}, map[string]any{"item": "b"}, nil, "guard mine"},
		{"one other is few enough", nil, map[string]any{"item": "b"}, func(c *Call) { c.Peers["alone"] = 1 }, "branch 1"},
		{"two others are too many", nil, map[string]any{"item": "b"}, func(c *Call) { c.Peers["alone"] = 2 }, "guard alone"},
		{"an item must be sent", nil, nil, nil, "invalid_input"},
		{"somebody must ask", nil, map[string]any{"item": "b"}, func(c *Call) { c.Actor = "" }, "actor_missing"},
		{"a record that would break a bound", map[string]any{"level": int64(10)}, map[string]any{"item": "b"}, nil, "invariant"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := m.OpNamed("change")
			c := m.BaseCall(o)
			for k, v := range tt.inputs {
				c.Inputs[k] = v
			}
			if tt.change != nil {
				tt.change(&c)
			}
			r := demoRow(m, tt.set)
			before := slices.Clone(r.Values)
			v := m.Decide(o, r, c)
			if v.Way != tt.want {
				t.Errorf("decided by %q, want %q", v.Way, tt.want)
			}
			if !slices.Equal(before, r.Values) {
				t.Error("the record that was decided on changed")
			}
		})
	}
	o := m.OpNamed("change")
	c := m.BaseCall(o)
	c.Inputs["item"] = "b"
	v := m.Decide(o, demoRow(m, nil), c)
	want := demoRow(m, map[string]any{"owner": nil, "have": SetOf("a", "b"), "done": true})
	want.State, want.Rev, want.UpdatedAt = "closed", 8, TheNow
	if d := m.DiffRows(want, v.Row); d != "" {
		t.Error(d)
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	m, err := Compile(demo)
	if err != nil {
		t.Fatal(err)
	}
	r := demoRow(m, map[string]any{"level": int64(10), "tries": int64(-1), "have": "[]"})
	if got, want := Violations(m.Broken(r), m), "[level (must true); tries (must true); tries >= 1 (must true)]"; got != want {
		t.Errorf("open: %s, want %s", got, want)
	}
	r.State = "closed"
	if got, want := Violations(m.Broken(r), m), "[have is present (must true); level (must true); owner is absent (must false); tries (must true)]"; got != want {
		t.Errorf("closed: %s, want %s", got, want)
	}
}

// Every two values of two dimensions meet, and what an operation reads is
// combined in full.
func TestCombine(t *testing.T) {
	t.Parallel()
	var dims []Dim
	for i := range 6 {
		dims = append(dims, Dim{Name: string(rune('a' + i)), Values: []any{0, 1, 2}[:2+i%2], relevant: i < 2})
	}
	for _, limit := range []int{1 << 20, 40, 3} {
		pairsSeen := map[[4]int]bool{}
		relevant := map[[2]int]bool{}
		n := 0
		for c := range Combine(dims, limit) {
			n++
			relevant[[2]int{c[0], c[1]}] = true
			for i := range c {
				for j := i + 1; j < len(c); j++ {
					pairsSeen[[4]int{i, c[i], j, c[j]}] = true
				}
			}
		}
		wantPairs := 0
		for i := range dims {
			for j := i + 1; j < len(dims); j++ {
				if limit > 6 && limit < 100 && (i < 2) != (j < 2) {
					continue // pairs of a relevant and another dimension are not promised
				}
				wantPairs += len(dims[i].Values) * len(dims[j].Values)
				for a := range dims[i].Values {
					for b := range dims[j].Values {
						if !pairsSeen[[4]int{i, a, j, b}] {
							t.Errorf("limit %d: %s=%d never meets %s=%d", limit, dims[i].Name, a, dims[j].Name, b)
						}
					}
				}
			}
		}
		if len(relevant) != 6 {
			t.Errorf("limit %d: %d of 6 relevant combinations", limit, len(relevant))
		}
		if limit > 1000 && n != product(dims, nil) {
			t.Errorf("limit %d: %d cases, want the product %d", limit, n, product(dims, nil))
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, from, to, want string }{
		{"a cell that is none", "choose  ", "chose   ", "is no cell"},
		{"a state that is none", "-> closed", "-> cloesd", "is not a state of the machine"},
		{"a line too short", "| record only", "", "columns"},
		{"a state that is missing", "| closed", "| shut", "expected the state"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := demo
			x.Matrix = strings.Replace(demo.Matrix, tt.from, tt.to, 1)
			if _, err := Compile(x); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
