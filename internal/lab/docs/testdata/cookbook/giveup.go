package cookbook

import (
	"context"
	"errors"

	"example.com/cookbook/bill"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// bank takes money once for a key, and knows what it did.
type bank interface {
	Charge(ctx context.Context, key string, cents int64) error
	Charged(ctx context.Context, key string) (bool, error)
}

// errNoFunds is an answer for good.
var errNoFunds = errors.New("no funds")

// cashier performs the effects of bills.
type cashier struct {
	bank  bank
	bills *bill.Machine
}

// ChargeCard gives up when the bank has said no. Any other error is tried again, five times in all.
func (c *cashier) ChargeCard(ctx context.Context, b bill.Bill, key string, _ fsm.Event) error {
	err := c.bank.Charge(ctx, key, b.Amount)
	if errors.Is(err, errNoFunds) {
		return fsm.GiveUp(err)
	}
	return err
}

// AskBank asks what became of the charge, by its key, which this effect has as well.
func (c *cashier) AskBank(ctx context.Context, b bill.Bill, key string, _ fsm.Event) error {
	done, err := c.bank.Charged(ctx, key)
	if err != nil {
		return err // it is asked again
	}
	call := fsm.Call{RequestID: "asked " + key}
	if done {
		_, err = c.bills.Found(ctx, b, call)
	} else {
		_, err = c.bills.NotFound(ctx, b, call)
	}
	return err
}
