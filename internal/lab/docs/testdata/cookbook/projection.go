package cookbook

import (
	"context"

	"example.com/cookbook/parcel"
)

// order derives an order from its parcels.
func order(ctx context.Context, parcels *parcel.Machine, id string) (parcel.Order, error) {
	var mine []parcel.Parcel
	for p, err := range parcels.List(ctx) {
		if err != nil {
			return parcel.Order{}, err
		}
		if p.OrderID == id {
			mine = append(mine, p)
		}
	}
	return parcel.Project(mine), nil
}
