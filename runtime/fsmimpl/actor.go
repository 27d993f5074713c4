package fsmimpl

// Actor says who runs an operation.
type Actor uint8

// The actors.
const (
	ByCaller Actor = iota + 1
	BySystem
	ByOperator
)
