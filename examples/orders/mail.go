package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// mailbox is the effect of the machine, and stands for a mail service: it prints a mail once, however often it is asked
// to under one key. A real one posts the mail with the key in a header, as examples/webhook does.
type mailbox struct {
	out  io.Writer
	sent sync.Map // keys
}

// MailReceipt runs after the commit that took an order into paid. After an error or a crash it runs again, with the same
// key.
func (m *mailbox) MailReceipt(_ context.Context, o order.Order, key string, _ fsm.Event) error {
	if _, again := m.sent.LoadOrStore(key, true); !again {
		fmt.Fprintf(m.out, "mail to %s: we have got %d, thank you\n", o.Customer, o.Paid)
	}
	return nil
}
