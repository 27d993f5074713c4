package cookbook

import (
	"context"

	"example.com/cookbook/parcel"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// order derives an order from its parcels.
func order(ctx context.Context, parcels *parcel.Machine, id string) (parcel.Order, error) {
	var mine []parcel.Parcel
	for page := (fsm.Page{}); ; {
		found, next, err := parcels.OfOrder(ctx, id, page)
		if err != nil {
			return parcel.Order{}, err
		}
		mine = append(mine, found...)
		if page = next; page.After == "" {
			return parcel.Project(mine), nil
		}
	}
}
