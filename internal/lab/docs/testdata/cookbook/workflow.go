package cookbook

import (
	"context"
	"errors"

	"example.com/cookbook/edge"
	"example.com/cookbook/stage"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// onward tells the edges behind a stage what became of it.
type onward struct {
	edges *edge.Machine // set when both machines are open
}

func (o *onward) PassOn(ctx context.Context, s stage.Stage, key string, _ fsm.Event) error {
	_, err := o.edges.PassEach(ctx, edge.PassInput{Of: s.ID}, fsm.Call{RequestID: key})
	return ifAny(err)
}

func (o *onward) CutOff(ctx context.Context, s stage.Stage, key string, _ fsm.Event) error {
	_, err := o.edges.CutEach(ctx, edge.CutInput{Of: s.ID}, fsm.Call{RequestID: key})
	return ifAny(err)
}

// ifAny takes a call that found nothing to do for done.
func ifAny(err error) error {
	if errors.Is(err, fsm.ErrNothingToDo) {
		return nil
	}
	return err
}
