package fsm

import "fmt"

// PanicError is the failure of work that panicked.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // where it was
}

// Error says what the panic was of.
func (e *PanicError) Error() string { return fmt.Sprintf("the work panicked: %v", e.Value) }

// Unwrap returns the value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
