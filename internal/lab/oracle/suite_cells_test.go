package oracle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Where many states refuse an operation, each of them is tried, most with one record.
func TestManyRefusals(t *testing.T) {
	t.Parallel()
	const states = 3 * wholeRefusals
	table := Table{
		Machine: "many",
		Fields:  []Field{{Name: "n", Type: "int 0..9"}, {Name: "owner", Type: "optional string"}},
	}
	head, line := "| (new)", "step | ."
	for i := range states {
		s := State{Name: fmt.Sprint("s", i)}
		if i%2 == 1 {
			s.Present, s.Invariant = "owner", []string{"n >= 3"}
		}
		table.States = append(table.States, s)
		head, line = head+" | "+s.Name, line+" | refused"
	}
	table.Matrix = head + "\n" + line + "\n"
	table.Operations = []Operation{{Name: "step", Inputs: []Input{{Name: "n", Type: "int 0..9"}}, Set: []string{"n: input"}}}
	m, err := Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	for fault := range states + 1 {
		var tried int
		s := &Suite[driver.Row]{M: m, D: Driver[driver.Row]{
			Descriptor: &fsmimpl.Descriptor[driver.Row]{
				Encode: func(r *driver.Row) driver.Row { return *r },
				Decode: func(r driver.Row) (driver.Row, error) { return r, nil },
			},
			Can: func(r driver.Row, _ string) error { return refusal(r) },
			Pure: func(r *driver.Row, _ string, _ Call) (any, error) {
				refused := refusal(*r)
				if r.State == fmt.Sprint("s", fault) {
					r.UpdatedAt = r.UpdatedAt.Add(time.Second)
				}
				tried++
				return nil, refused
			},
		}}
		wrong := &reporter{Sink: silence{}}
		s.refused(wrong, m.Ops[0], m.StateOrder, map[string]int{}, map[string]bool{})
		if (wrong.failed > 0) != (fault < states) {
			t.Errorf("with a fault in state number %d of %d: noticed %t", fault, states, wrong.failed > 0)
		}
		if n := s.caseCount; n != tried || n < 2*states || s.soundCount < states {
			t.Errorf("%d cases, %d on sound records, tried %d", n, s.soundCount, tried)
		}
		for i, st := range m.StateOrder {
			if r := m.OneRow(st); !m.Sound(r) || !strings.HasSuffix(r.State, fmt.Sprint(i)) {
				t.Errorf("the record of %s is %s", st.Name, m.ShowRow(r))
			}
		}
	}
}

func refusal(r driver.Row) error {
	return &fsm.Refusal{Code: fsm.ErrWrongState, Machine: "many", Operation: "step", ID: r.ID, State: r.State}
}
