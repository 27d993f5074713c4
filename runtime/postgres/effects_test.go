package postgres_test

import (
	"context"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

var effects = map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": nothing, "carry": nothing, "notify": nothing}

func nothing(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
