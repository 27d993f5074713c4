package fsmimpl

import "github.com/fsmgen/fsmgen/runtime/driver"

// Lookup is a question of the application: which records have these values?
type Lookup struct {
	Name    string
	Columns []string       // stored names of the fields that have values
	States  []string       // stored words; nil: all
	Order   []driver.Order // then by id
}
