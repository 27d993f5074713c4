package fsm

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inside"
)

// within makes a call in a transaction of somebody else. If that is an atomic
// effect's, a call that fails half done makes the effect fail, whatever the
// effect makes of the error.
func within(ctx context.Context, store driver.Store, call func() error) error {
	mark := inside.Around(ctx, store)
	if mark == nil {
		return call()
	}
	before := mark.Writes
	err := call()
	if err != nil && mark.Writes != before && mark.Half == nil {
		mark.Half = err
	}
	return err
}

// verdict is the error of an effect that returned err.
func verdict(mark *inside.Mark, tx driver.Tx, err error) error {
	switch {
	case err != nil:
		return err
	case tx.Ended():
		return errEnded
	case mark.Half != nil:
		return fmt.Errorf("the effect ignored a call that failed halfway: %w", mark.Half)
	}
	return nil
}

var errEnded = errors.New("the effect has ended the transaction, which is the engine's; it must neither commit it nor roll it back")
