package fsmtest

import (
	"context"
	"errors"
	"sync"
)

// ErrEffect is what an effect of a test answers when it is told to fail.
var ErrEffect = errors.New("the effect was told to fail")

// Effects stands for the world outside: it notes every effect that is
// performed, and fails those it is told to.
type Effects struct {
	mu        sync.Mutex
	performed []performed
	attempts  int
	fail      map[string]bool
	wrongTx   []string
}

// Perform is one effect being performed. inTx says whether it got a
// transaction: an atomic one must, another one must not.
func (x *Effects) Perform(_ context.Context, effect, id string, rev int64, key string, inTx, atomic bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.attempts++
	if inTx != atomic {
		x.wrongTx = append(x.wrongTx, effect)
	}
	if x.fail[effect] {
		return ErrEffect
	}
	x.performed = append(x.performed, performed{effect, id, rev, key})
	return nil
}

func (x *Effects) setFail(effect string, fail bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fail == nil {
		x.fail = map[string]bool{}
	}
	x.fail[effect] = fail
}

func (x *Effects) done() []performed {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]performed(nil), x.performed...)
}
