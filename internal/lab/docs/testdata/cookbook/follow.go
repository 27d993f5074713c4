package cookbook

import (
	"context"
	"errors"

	"example.com/cookbook/delivery"
	"example.com/cookbook/purchase"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// recall calls back the deliveries of a purchase that was cancelled.
type recall struct {
	deliveries *delivery.Machine // set when both machines are open
}

func (r *recall) CallBack(ctx context.Context, p purchase.Purchase, key string, _ fsm.Event) error {
	_, err := r.deliveries.CallBackEach(ctx, delivery.CallBackInput{Of: p.ID}, fsm.Call{RequestID: key})
	if errors.Is(err, fsm.ErrNothingToDo) { // all have arrived, or none was sent
		return nil
	}
	return err
}
