package oracle

import (
	"testing"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Over a store there is a call in each cell that does something, and one that is refused.
func TestStoredCallsMeetEachCell(t *testing.T) {
	t.Parallel()
	m, err := Compile(demo)
	if err != nil {
		t.Fatal(err)
	}
	met, ids := map[string]int{}, map[string]bool{}
	for _, x := range m.storedCalls() {
		if ids[x.Call.ID] {
			t.Errorf("two records are %s", x.Call.ID)
		}
		ids[x.Call.ID] = true
		if st := m.StateOf(x.Row.State); st != nil {
			met[x.o.Name+" in "+st.Name]++
		} else {
			met[x.o.Name]++
		}
	}
	for _, cell := range []string{"make", "change in open", "change in closed", "finish in open", "finish in closed"} {
		if met[cell] == 0 {
			t.Errorf("no call of %s", cell)
		}
	}
	if met["change in open"] < 5 { // its guards and branches
		t.Errorf("%d calls of change in open", met["change in open"])
	}
}

// Texts of their own leave a case as it is decided, and keep it out of all groups.
func TestCasesAreKeptApart(t *testing.T) {
	t.Parallel()
	m, err := Compile(demo)
	if err != nil {
		t.Fatal(err)
	}
	o := m.OpNamed("change")
	var rows []driver.Row
	for n, c := range m.ByWay(o, m.StateByName["open"]) {
		way := m.Decide(o, c.Row, c.Call).Way
		m.apart(o, &c, n+1)
		if got := m.Decide(o, c.Row, c.Call).Way; got != way {
			t.Errorf("case %d is decided by %q, want %q as before", n+1, got, way)
		}
		p := pass[int]{Suite: &Suite[int]{M: m}, rows: rows}
		if p.meets(c.Row) {
			t.Errorf("case %d meets another one: %s", n+1, m.ShowRow(c.Row))
		}
		rows = append(rows, c.Row)
		if p.rows = rows; c.Row.Values[0] != nil && !p.meets(c.Row) {
			t.Errorf("case %d does not meet itself", n+1)
		}
	}
}
