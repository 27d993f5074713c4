package fsmcases

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
	Performed []Performed // in its order
	Attempts  int
	Fail      map[string]bool
	Sources   map[string]Call // by operation: the inputs of a call that a trigger issues
}

// Performed is one effect that ran.
type Performed struct {
	Effect, ID string
	Rev        int64
	Key        string
	InTx       bool
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
	x.Performed = append(x.Performed, Performed{effect, at.ID, at.Rev, key, given})
	return nil
}

// Source makes up the inputs of a call that a trigger issues.
func (x *Effects) Source(operation string) Call { return x.Sources[operation] }

// Done lists what was performed, in its order.
func (x *Effects) Done() []Performed {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	return slices.Clone(x.Performed)
}
