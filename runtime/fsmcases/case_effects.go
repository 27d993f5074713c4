package fsmcases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// delivered looks at the effects in the transaction, and then at those that wait.
func (x *played[R]) delivered() string {
	waits := func(text string) bool { return !strings.Contains(text, inTransaction) }
	now := slices.Clone(x.c.Effects)
	if i := slices.IndexFunc(now, waits); i >= 0 {
		now = now[:i]
	}
	if wrong := x.performed(now); wrong != "" {
		return wrong
	}
	x.fx.end(x.c.GivesUp, x.c.Tries)
	rounds, tries := len(x.c.Effects), x.c.Tries
	if x.c.GivesUp != "" {
		tries = max(1, tries)
	}
	for n := range tries + rounds {
		if n > 0 && n < tries {
			x.clock.Set(x.clock.Now().Add(betweenTries))
		}
		switch _, err := x.m.Deliver(x.ctx); {
		case err == nil, n < tries-1 && errors.Is(err, fsm.ErrEffect) && !onlyGaveUp(err), n == tries-1 && onlyGaveUp(err):
		default:
			return fmt.Sprintf("Deliver: %v", err)
		}
	}
	if !x.fx.ended() {
		return "after Deliver, the effect that gives up was not performed: " + x.c.GivesUp
	}
	all := slices.DeleteFunc(slices.Clone(x.c.Effects), func(text string) bool { return strings.HasSuffix(text, givesUp) })
	if wrong := x.performed(all); wrong != "" {
		return "after Deliver, " + wrong
	}
	return ""
}

// betweenTries is longer than a delivery waits after any failure.
const betweenTries = 10 * time.Minute

// inTransaction stands in the text of an effect that is a part of its transaction.
const inTransaction = " in the transaction: "

// givesUp stands behind the name of an effect where it ends without being performed: what is behind it is of the step that follows.
const givesUp = " gives up"

// performed compares the effects that ran with some of those of the case.
func (x *played[R]) performed(want []string) string {
	var got []string
	for _, p := range x.fx.Done()[x.ran:] {
		text := p.Effect + " " + p.Key
		if p.InTx {
			if len(x.c.steps()) == 0 || x.c.Picks != "" && p.ID != x.id {
				continue // it is undone with the transaction, or with a record that the pick passed over
			}
			text = p.Effect + inTransaction + p.Key
		}
		got = append(got, text)
	}
	if !slices.Equal(ordered(want), ordered(got)) {
		return fmt.Sprintf("the effects %q were performed, want %q", got, want)
	}
	return ""
}

// ordered sorts the effects that were delivered, which have no order among each other.
func ordered(effects []string) []string {
	var atomic, delivered []string
	for _, e := range effects {
		if strings.Contains(e, inTransaction) {
			atomic = append(atomic, e)
		} else {
			delivered = append(delivered, e)
		}
	}
	slices.Sort(delivered)
	return append(atomic, delivered...)
}
