package spec

import (
	"fmt"
	"testing"
)

// Of two declarations of one name the first one is found, however many there are.
func TestIndexOfEqualNames(t *testing.T) {
	t.Parallel()
	for _, n := range []int{4, 40} {
		m := &Machine{derived: &derived{}}
		for i := range n {
			m.Fields = append(m.Fields, &Field{Name: fmt.Sprint("f", i%(n/2))})
		}
		if got := m.Field("f1"); got != m.Fields[1] {
			t.Errorf("of %d fields another one than the first of its name was found", n)
		}
	}
}
