package main

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"strconv"

	"example.com/shop/order"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/adopt"
)

// words are the states of the old column.
var words = map[string]order.State{
	"NEW": order.StatePlaced, "PAID": order.StatePaid, "PACKED": order.StatePacked,
	"SHIPPED": order.StateShipped, "DONE": order.StateDelivered, "CANCELLED": order.StateCancelled,
}

// old reads the old table as records to import.
func (s *shop) old(ctx context.Context) iter.Seq2[adopt.Item[order.Order], error] {
	return func(yield func(adopt.Item[order.Order], error) bool) {
		rows, err := s.db.QueryContext(ctx, `SELECT id, status, customer, total, coupon, created FROM old_orders ORDER BY id`)
		if err != nil {
			yield(adopt.Item[order.Order]{}, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var r oldOrder
			err := rows.Scan(&r.id, &r.status, &r.customer, &r.total, &r.coupon, &r.created)
			if !yield(r.item(), err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(adopt.Item[order.Order]{}, err)
		}
	}
}

// oldOrder is a row of the old table.
type oldOrder struct {
	id               int64
	status, customer sql.NullString
	total            float64
	coupon           sql.NullString
	created          sql.NullTime
}

// item makes a record of a row. What is none is handed in as odd, and is told with the others.
func (r *oldOrder) item() adopt.Item[order.Order] {
	id := strconv.FormatInt(r.id, 10)
	state, known := words[r.status.String]
	if !known {
		return odd("status", id, fmt.Sprintf("%q", r.status.String))
	}
	cents := math.Round(r.total * 100)
	if math.Abs(r.total*100-cents) > 1e-6 {
		return odd("total", id, fmt.Sprint(r.total))
	}
	o := order.Order{ID: id, State: state, Customer: r.customer.String, Total: int64(cents), CreatedAt: r.created.Time}
	if r.coupon.Valid {
		o.Coupon = fsm.Some(r.coupon.String)
	}
	if r.created.Valid {
		o.PlacedAt = fsm.Some(r.created.Time)
	}
	if state != order.StatePlaced && state != order.StateCancelled {
		o.Payment = fsm.Some("before the move")
	}
	call := fsm.Call{RequestID: "import " + id, Actor: "ann", Reason: "moved from old_orders"}
	return adopt.Item[order.Order]{Record: o, Call: call}
}

func odd(rule, id, value string) adopt.Item[order.Order] {
	return adopt.Item[order.Order]{Odd: []adopt.Misfit{{Rule: rule, ID: id, Value: value}}}
}
