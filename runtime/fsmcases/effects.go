package fsmcases

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
	GivesUp   string          // the effect that gives up the next time, and its error: "send: no answer"
	Tries     int             // how often it fails before; 0: it gives up by itself
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
	if name, problem, _ := strings.Cut(x.GivesUp, ": "); name == effect {
		if x.Tries--; x.Tries > 0 {
			return errors.New(problem)
		}
		x.GivesUp = ""
		if x.Tries == 0 { // the last of them
			return errors.New(problem)
		}
		return fsm.GiveUp(errors.New(problem))
	}
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

// end lets an effect give up the next time that it is performed, or after so many tries.
func (x *Effects) end(effect string, tries int) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	x.GivesUp, x.Tries = effect, tries
}

// ended reports whether the effect that was to give up has done so.
func (x *Effects) ended() bool {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	return x.GivesUp == ""
}

// onlyGaveUp reports whether an error of Deliver says that effects gave up, and nothing else.
func onlyGaveUp(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !onlyGaveUp(err) })
	}
	var effect *fsm.EffectError
	if !errors.As(err, &effect) {
		return false
	}
	_, gaveUp := effect.Err.(*fsm.GiveUpError)
	return gaveUp
}
