package cookbook

import (
	"context"

	"example.com/cookbook/parcel"
)

// complete reports whether all parcels of an order are received.
func complete(ctx context.Context, parcels *parcel.Machine, id string) (bool, error) {
	order, err := parcels.Order(ctx, id)
	return order.State == parcel.OrderStateComplete, err
}
