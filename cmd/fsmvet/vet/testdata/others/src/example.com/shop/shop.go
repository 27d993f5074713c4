// Package shop uses libraries that fsmgen does not.
package shop

import (
	"context"

	"example.com/order"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"google.golang.org/grpc"
)

// client is what gRPC generates.
type client interface {
	Charge(ctx context.Context, sum int, opts ...grpc.CallOption) error
}

type effects struct{ bank client }

func (f effects) Book(ctx context.Context, tx int, o order.Order, key string, _ fsm.Event) error { // want Book:"leaves via gRPC"
	return f.bank.Charge(ctx, 1) // want `the atomic effect Book calls gRPC by Charge within the transaction of the step`
}

func (f effects) Mail(ctx context.Context, o order.Order, key string, _ fsm.Event) error { // want Mail:"leaves via gRPC"
	return f.bank.Charge(ctx, 1)
}

func (f effects) Other(ctx context.Context, tx int, o order.Order, key string, _ fsm.Event) error { // want Other:"leaves via gRPC"
	return f.bank.Charge(ctx, 1)
}
