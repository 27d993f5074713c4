package fsmcases

import (
	"encoding"
	"fmt"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Opt returns an optional input: absent when the call does not send it.
// get is one of the methods above: Opt(c, "lease", Call.Time).
func Opt[T any](c Call, name string, get func(Call, string) T) fsm.Optional[T] {
	if c.Inputs[name] == nil {
		return fsm.Optional[T]{}
	}
	return fsm.Some(get(c, name))
}

// Word returns an enum input: the zero value, which is no word, when the call
// does not send it.
func Word[T ~uint8 | ~uint16, P interface {
	*T
	encoding.TextUnmarshaler
}](c Call, name string) T {
	var v T
	switch s := input[string](c, name, driver.KindEnum); {
	case s == NoWord:
		return ^v
	case c.Inputs[name] != nil:
		if err := P(&v).UnmarshalText([]byte(s)); err != nil {
			panic(fmt.Sprintf("fsmcases: input %s: %v", name, err))
		}
	}
	return v
}

// Named returns the value with that name. It panics when there is none: then
// the test file and the package are not of one specification.
func Named[T fmt.Stringer](values []T, name string) T {
	for _, v := range values {
		if v.String() == name {
			return v
		}
	}
	panic(fmt.Sprintf("fsmcases: none of %v is named %q", values, name))
}

// Ends returns what the states of a package say of themselves.
func Ends[S interface {
	fmt.Stringer
	Terminal() bool
}](states []S) []End {
	var list []End
	for _, s := range states {
		final, ok := any(s).(interface{ Final() bool })
		list = append(list, End{State: s.String(), Terminal: s.Terminal(), Final: ok && final.Final()})
	}
	return list
}

// OrNil returns the value of an optional, nil when it is absent.
func OrNil[T any](o fsm.Optional[T]) any {
	if v, ok := o.Get(); ok {
		return v
	}
	return nil
}

// UseStore ends a test whose store cannot be opened, and closes the store with the test.
func UseStore(t *testing.T) func(fsm.Store, error) fsm.Store {
	return func(store fsm.Store, err error) fsm.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
}
