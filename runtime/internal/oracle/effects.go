package oracle

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// ErrEffect is what an effect of a test answers when it is told to fail.
var ErrEffect = errors.New("the effect was told to fail")

// Effects stands for the world outside: it notes every effect that is
// performed, and fails those it is told to.
type Effects struct {
	Mu        sync.Mutex
	performed []Performed
	Attempts  int
	Fail      map[string]bool
	sources   map[string]Call
}

// Perform is one effect being performed for a record at a revision; tx is the
// transaction it is given, nil for none.
func (x *Effects) Perform(effect string, at fsm.Ref, key string, e fsm.Event, tx any) error {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	x.Attempts++
	if x.Fail[effect] {
		return ErrEffect
	}
	if e.ID != at.ID || e.Rev != at.Rev || e.Sum != driver.Checksum(&e) {
		return fmt.Errorf("effect %s for %v is given the event of %s@%d", effect, at, e.ID, e.Rev)
	}
	given := tx != nil && !(reflect.ValueOf(tx).Kind() == reflect.Pointer && reflect.ValueOf(tx).IsNil())
	x.performed = append(x.performed, Performed{effect, at.ID, at.Rev, key, given})
	return nil
}

// Source makes up the inputs of a call that a trigger issues.
func (x *Effects) Source(operation string) Call { return x.sources[operation] }

// Settle forgets what was performed in transactions that were rolled back before
// the last one: of everything after the first before, the last n remain.
func (x *Effects) Settle(before, n int) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	since := x.performed[before:]
	for _, p := range since[:max(0, len(since)-n)] {
		if !p.inTx {
			return // that cannot be taken back
		}
	}
	x.performed = append(x.performed[:before:before], since[max(0, len(since)-n):]...)
}

// Done lists what was performed, in its order.
func (x *Effects) Done() []Performed {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	return slices.Clone(x.performed)
}
