package cookbook

import (
	"context"
	"errors"

	"example.com/cookbook/delivery"
	"example.com/cookbook/purchase"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// counts moves the purchase of a delivery.
type counts[T any] struct {
	store     driver.Transactional[T]
	purchases *purchase.Machine
}

func (c counts[T]) CountSent(ctx context.Context, tx T, d delivery.Delivery, key string, _ fsm.Event) error {
	in, err := c.purchases.In(ctx, fsm.Join(c.store, tx))
	if err == nil {
		_, err = in.DeliverySent(ctx, fsm.Ref{ID: d.Purchase}, fsm.Call{RequestID: key})
	}
	return err
}

func (c counts[T]) CountArrived(ctx context.Context, tx T, d delivery.Delivery, key string, _ fsm.Event) error {
	in, err := c.purchases.In(ctx, fsm.Join(c.store, tx))
	if err == nil {
		_, err = in.DeliveryArrived(ctx, fsm.Ref{ID: d.Purchase}, fsm.Call{RequestID: key})
	}
	return err
}

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
