package devices

import (
	"context"
	"errors"
	"time"

	"github.com/qmuntal/stateless"
)

func statelessWizard(now time.Time, act func(string)) Device {
	d := newStateless("person", now, act)
	var name, street, card string
	reviewed := false
	fill := func(into *string, next string) func(context.Context, ...any) (stateless.State, error) {
		return func(_ context.Context, a ...any) (stateless.State, error) {
			if a[0].(string) == "" {
				return nil, errors.New("it is empty")
			}
			if *into = a[0].(string); reviewed && name != "" && street != "" && card != "" {
				return "review", nil
			}
			return next, nil
		}
	}
	page := func(_ context.Context, a ...any) (stateless.State, error) {
		switch a[0] {
		case "person", "address", "payment":
			return a[0], nil
		}
		return nil, errors.New("no such page")
	}
	d.Configure("person").PermitDynamic("enter", fill(&name, "address"))
	d.Configure("address").PermitDynamic("enter", fill(&street, "payment")).Permit("back", "person")
	d.Configure("payment").PermitDynamic("enter", fill(&card, "review")).Permit("back", "address")
	d.Configure("review").OnEntry(func(context.Context, ...any) error { reviewed = true; return nil }).
		PermitDynamic("edit", page).Permit("back", "payment").Permit("submit", "sent")
	d.Configure("sent").OnEntry(d.acts("thank"))
	return d
}
