package oracle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// ints is a dimension with the values 0 to n-1.
func ints(n int) Dim {
	d := Dim{Name: "d"}
	for i := range n {
		d.Values = append(d.Values, i)
	}
	return d
}

func TestSeek(t *testing.T) {
	t.Parallel()
	six := []Dim{ints(4), ints(4), ints(4), ints(4), ints(4), ints(4)}
	is := func(i, v int) fixture {
		return fixture{[]int{i}, func(c []int) bool { return c[i] == v }}
	}
	for _, tt := range []struct {
		name  string
		dims  []Dim
		goals []fixture
		want  []int // nil: it is not there
		most  int   // choices that are looked at
	}{
		{"nothing varies and nothing is asked for", nil, nil, []int{}, 0},
		{"nothing varies and something is missing", nil, []fixture{{nil, func([]int) bool { return false }}}, nil, 0},
		{"the first values fit", six, nil, []int{0, 0, 0, 0, 0, 0}, 0},
		{"each value apart from the others", six, []fixture{is(0, 3), is(1, 1), is(2, 2), is(4, 3), is(5, 1)}, []int{3, 1, 2, 0, 3, 1}, 20},
		{"a dimension has no values", []Dim{ints(2), ints(0)}, []fixture{is(0, 1)}, nil, 0},
		{"one value is not there", six, []fixture{is(0, 3), is(5, 4)}, nil, 8},
		{"two that must change together", []Dim{ints(3), ints(3)}, []fixture{
			{[]int{0, 1}, func(c []int) bool { return c[0] == 2 && c[1] == 2 }}}, []int{2, 2}, 12},
		{"a chain", six, []fixture{
			{[]int{3, 5}, func(c []int) bool { return c[3] < c[5] }},
			{[]int{5, 0}, func(c []int) bool { return c[5] < c[0] }},
			{[]int{0, 2}, func(c []int) bool { return c[0] < c[2] }}}, []int{2, 0, 3, 0, 0, 1}, 100},
		{"too many hang together", []Dim{ints(40), ints(40), ints(40), ints(40)}, []fixture{
			{[]int{0, 1, 2, 3}, func(c []int) bool { return c[0]+c[1]+c[2]+c[3] == 156 }}}, nil, seekLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := func() ([]int, bool, int) {
				choice, tries := make([]int, len(tt.dims)), -len(tt.dims)
				var goals []goal
				for _, f := range tt.goals {
					goals = append(goals, goal{f.reads, func() bool { return f.met(choice) }})
				}
				got, ok := seek(tt.dims, goals, func(i, v int) { choice[i] = v; tries++ })
				return got, ok, tries
			}
			got, ok, tries := run()
			if ok != (tt.want != nil) {
				t.Fatalf("found %t, want %t", ok, tt.want != nil)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the choice (-want +got):\n%s", diff)
			}
			if tries > tt.most {
				t.Errorf("%d choices are looked at, want at most %d", tries, tt.most)
			}
			if again, _, _ := run(); !slices.Equal(got, again) {
				t.Errorf("the same search finds %v, then %v", got, again)
			}
		})
	}
}

// fixture is a goal for indices.
type fixture struct {
	reads []int
	met   func(choice []int) bool
}

// gauges has more fields than a cell tries combinations of: a guard that fails in
// one of them only, and a branch behind eight facts, are looked for.
const gauges = `
      | (new)   | idle   | busy
make  | -> idle | .      | .
start | .       | choose | .
`

func gaugeTable() Table {
	t := Table{Machine: "gauge", Matrix: gauges, ExpectedRev: "required", RequestID: "required",
		States: []State{{Name: "idle", Invariant: []string{"f0 >= 2"}}, {Name: "busy"}},
		Guards: []Guard{{Name: "low", When: []string{"f0 < 5"}, Error: "too_high"}, {Name: "few", Fewer: 2, Same: "f0", In: "idle", Error: "too_many"}},
	}
	op := Operation{Name: "start", Require: "low, few", Choose: []Branch{{To: "busy"}, {To: "same"}}}
	for _, name := range []string{"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"} {
		t.Fields = append(t.Fields, Field{Name: name, Type: "int"})
		op.Choose[0].When = append(op.Choose[0].When, name+" == 4")
	}
	t.Operations = []Operation{{Name: "make"}, op}
	return t
}

func TestDirected(t *testing.T) {
	t.Parallel()
	m, err := Compile(gaugeTable())
	if err != nil {
		t.Fatal(err)
	}
	o, idle := m.OpNamed("start"), m.StateByName["idle"]
	dims := m.Dims(o)
	if product(dims, nil) <= CellLimit {
		t.Fatalf("%d combinations are within the limit, so nothing is looked for", product(dims, nil))
	}
	ways := func(list []Case) (ways []string) {
		for _, c := range list {
			if !m.Sound(c.Row) {
				t.Errorf("a case breaks %v", m.Broken(c.Row))
			}
			v := m.Decide(o, c.Row, c.Call)
			if ways = append(ways, v.Way); len(v.Failing) > 1 {
				t.Errorf("%s: %v fail, want one guard at a time", v.Way, v.Failing)
			}
		}
		return ways
	}
	want := []string{"branch 1", "branch 2", "guard low", "guard few"}
	if diff := cmp.Diff(want, ways(m.directed(o, idle, dims))); diff != "" {
		t.Errorf("the ways that were found (-want +got):\n%s", diff)
	}
	if got := m.directed(o, m.StateByName["busy"], dims); got != nil {
		t.Errorf("where the operation is refused, %d cases were looked for", len(got))
	}
	all := map[string]bool{}
	for c := range m.Cases(o, idle) {
		all[m.Decide(o, c.Row, c.Call).Way] = true
	}
	for _, way := range want {
		if !all[way] {
			t.Errorf("no case of the cell is decided by %s", way)
		}
	}
	implied := gaugeTable()
	implied.Operations[1].Implied = "low"
	if m, err = Compile(implied); err != nil {
		t.Fatal(err)
	}
	o = m.OpNamed("start")
	if diff := cmp.Diff([]string{"branch 1", "branch 2", "guard few"}, ways(m.directed(o, m.StateByName["idle"], m.Dims(o)))); diff != "" {
		t.Errorf("with an implied guard (-want +got):\n%s", diff)
	}
}

func TestRowIn(t *testing.T) {
	t.Parallel()
	table := gaugeTable()
	table.States[0].Invariant = []string{"f0 >= 2", "f1 == 5", "f2 > f3", "f3 > f4"}
	m, err := Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := m.RowIn(m.StateByName["idle"], false)
	if !ok || !m.MustHold(r) || r.State != "idle" {
		t.Errorf("found %t: %s breaks %v", ok, m.ShowRow(r), m.Broken(r))
	}
	table.States[0].Invariant = []string{"f0 > 3", "f0 < 3"}
	if m, err = Compile(table); err != nil {
		t.Fatal(err)
	}
	if r, ok := m.RowIn(m.StateByName["idle"], false); ok || !cmp.Equal(r, driver.Row{}) {
		t.Errorf("a record that cannot be was found: %s", m.ShowRow(r))
	}
}
