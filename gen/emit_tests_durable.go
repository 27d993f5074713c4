package gen

import (
	"github.com/fsmgen/fsmgen/spec"
)

func (e *testEmitter) durable() {}
func (e *testEmitter) stores()  {}

var _ = spec.ByCaller
