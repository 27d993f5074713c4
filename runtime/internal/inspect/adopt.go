package inspect

import "github.com/fsmgen/fsmgen/runtime/driver"

// Tried is what is known of an import before it is made.
type Tried struct {
	Row     driver.Row // that it would write
	Request string     // the request id and what it asks for: equal for an import that replays; empty: it has no id
	Known   bool       // it was made before, by the same request
	Misfits []Misfit   // what keeps it from being made; empty: nothing does
}

// Misfit is one rule that a record breaks which is to be imported.
type Misfit struct {
	Code  string // of the refusal
	Rule  string // the field, invariant or unique rule; else the code
	Value string // of the fields that the rule names
	Err   error  // the refusal
}

// Fires is a step that a sweep would take with a record.
type Fires struct {
	Operation string
	Held      bool // it is left alone, since the program holds its deadline
}
