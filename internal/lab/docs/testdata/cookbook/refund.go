package cookbook

import (
	"context"

	"example.com/cookbook/sale"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// refund gives a part of a sale back, and returns what is left. A client that has heard no answer calls again with its key.
func refund(ctx context.Context, sales *sale.Machine, id, key, who string, amount int64) (left int64, err error) {
	call := fsm.Call{RequestID: key, Actor: who}
	out, err := sales.Refund(ctx, fsm.Ref{ID: id}, sale.RefundInput{Amount: amount}, call)
	return out.Record.Paid - out.Record.Refunded, err // sale.ErrRefundTooBig: less is left than that
}
