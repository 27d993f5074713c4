package postgres_test

import (
	"context"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

var effects = map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": nothing, "carry": nothing, "notify": nothing}

func nothing(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
