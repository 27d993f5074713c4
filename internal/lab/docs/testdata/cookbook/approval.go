package cookbook

import (
	"context"
	"errors"

	"example.com/cookbook/payment"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// approve gives the approval of one person: the first one, or the second.
func approve(ctx context.Context, payments *payment.Machine, id, person string) (payment.State, error) {
	stored, err := payments.Record(ctx, id)
	if err != nil {
		return 0, err
	}
	switch stored.State {
	case payment.StateRequested:
		out, err := payments.Endorse(ctx, stored, fsm.Call{RequestID: "endorse " + person, Actor: person})
		return out.Record.State, err
	default:
		out, err := payments.Approve(ctx, stored, fsm.Call{RequestID: "approve " + person, Actor: person})
		if errors.Is(err, payment.ErrSamePerson) {
			return stored.State, err // another one has to approve
		}
		return out.Record.State, err
	}
}
