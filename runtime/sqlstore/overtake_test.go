package sqlstore

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A write of a revision that is gone is answered without a batch; each that the
// database may see otherwise reaches it.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	move := func(id string, rev int64) *driver.Write {
		return &driver.Write{Prev: driver.Ref{ID: id, Rev: rev}, Row: &driver.Row{ID: id, Rev: rev + 1}}
	}
	note := func(id string, rev int64) *driver.Write { return &driver.Write{Prev: driver.Ref{ID: id, Rev: rev}} }
	for what, tt := range map[string]struct {
		first, then *driver.Write
		answer      error
		fate        fate
		elsewhere   bool // then is of another machine
		overtaken   bool
	}{
		"the same revision":           {first: move("a", 1), then: move("a", 1), fate: answered, overtaken: true},
		"another revision":            {first: move("a", 1), then: move("a", 2), fate: answered},
		"another record":              {first: move("a", 1), then: move("b", 1), fate: answered},
		"another machine":             {first: move("a", 1), then: move("a", 1), fate: answered, elsewhere: true},
		"a refused write":             {first: move("a", 1), then: move("a", 1), fate: answered, answer: refused},
		"a write that is tried alone": {first: move("a", 1), then: move("a", 1), fate: alone},
		"a creation":                  {first: move("a", 0), then: move("a", 0), fate: answered},
		"what is only recorded":       {first: move("a", 1), then: note("a", 1), fate: answered},
		"behind what is recorded":     {first: note("a", 1), then: move("a", 1), fate: answered},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			started, hold := make(chan struct{}), make(chan struct{})
			var once sync.Once
			var mu sync.Mutex
			var seen []string
			d := newDesk(t, func(batch []*job) bool {
				first := false
				once.Do(func() { first = true; close(started); <-hold })
				mu.Lock()
				defer mu.Unlock()
				for _, j := range batch {
					j.answer(nil)
					if first {
						j.fate, j.err = tt.fate, tt.answer
					}
					seen = append(seen, fmt.Sprint(j.w.Prev))
				}
				return false
			})
			other := d.t
			if tt.elsewhere {
				var err error
				if other, err = newTable(d.t.store, &driver.Schema{Machine: "n", Table: "n"}); err != nil {
					t.Fatal(err)
				}
			}
			commit := func(in *table, w *driver.Write) error {
				if tt.fate == alone && w == tt.first {
					defer func() { _ = recover() }() // there is no database to try it alone
				}
				return d.commit(t.Context(), in, w)
			}
			var group sync.WaitGroup
			group.Go(func() { _ = commit(d.t, tt.first) })
			<-started
			var err error
			group.Go(func() { err = commit(other, tt.then) })
			d.waiting(t, 1)
			close(hold)
			group.Wait()
			want := []string{fmt.Sprint(tt.first.Prev), fmt.Sprint(tt.then.Prev)}
			if tt.overtaken {
				want = want[:1]
			}
			if diff := cmp.Diff(want, seen); diff != "" || errors.Is(err, driver.ErrMoved) != tt.overtaken || !tt.overtaken && err != nil {
				t.Errorf("answered %v; writes (-want +got):\n%s", err, diff)
			}
		})
	}
}
